"""One library that computes cases of arrays: `python -m tools.bench.array_peer LIBRARY THREADS`.

Reads requests as lines of JSON and answers each with one line: {"prepare": program, ...} makes the inputs of a program,
{"run": n} computes it n times and answers with the nanoseconds of CPU time (one thread) or of the clock (several) of one,
{"memory": true} computes it once and answers with the bytes by which the process grew at most, {"call": method, ...} answers
with what a method of the program returns."""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tools.bench.array_operations import OPERATIONS, Operation, Shape, is_real

Program = Callable[[], Any]
LAYERS = 10


def inputs_of(operation: Operation, shapes: list[Shape], dtype: str, seed: int) -> list[np.ndarray]:
    """The values of all arrays: floats as float64, rounded later to the type."""
    generator = np.random.default_rng(seed)
    values = []
    for i, shape in enumerate(shapes):
        if i >= len(shapes) - operation.indices:
            values.append(generator.integers(0, 4, shape))
        elif dtype == "bool":
            values.append(generator.random(shape) < 0.5)
        elif is_real(dtype):
            values.append(generator.uniform(operation.low, operation.high, shape))
        else:
            low = max(0, operation.low) if dtype == "uint8" else min(operation.low, -1) if operation.low < 0 else operation.low
            values.append(generator.integers(round(low), max(round(operation.high), round(low) + 2), shape))
    return values


def program_of(operation: Operation, dtype: str, shapes: list[Shape], seed: int, gradient: bool, side: "Side") -> Program:
    """The operation on arrays of random numbers, with its gradients or without."""
    arrays = [side.array(values, dtype if i < len(shapes) - operation.indices else "int64")
              for i, values in enumerate(inputs_of(operation, shapes, dtype, seed))]
    call = side.function(operation)
    if not gradient:
        return lambda: side.computed(call(*arrays))
    variables, rest = arrays[:len(arrays) - operation.indices], arrays[len(arrays) - operation.indices:]
    shape = side.computed(call(*arrays)).shape
    adjoint = side.array(np.asarray(np.random.default_rng(seed).uniform(-1, 1, tuple(shape))), dtype)
    return side.with_gradients(lambda *x: call(*x, *rest), variables, adjoint)


class Side:
    """A library. Named programs are methods."""

    def array(self, values: np.ndarray, dtype: str) -> Any:
        raise NotImplementedError

    def function(self, operation: Operation) -> Callable[..., Any]:
        raise NotImplementedError

    def computed(self, result: Any) -> Any:
        return result

    def with_gradients(self, call: Callable[..., Any], variables: list[Any], adjoint: Any) -> Program:
        raise NotImplementedError

    def floats(self, seed: int, *shape: int, dtype: str = "float32") -> Any:
        return self.array(np.random.default_rng(seed).standard_normal(shape, np.float32), dtype)

    def matmul(self, size: int, dtype: str) -> Program:
        a, b = self.floats(1, size, size, dtype=dtype), self.floats(2, size, size, dtype=dtype)
        return lambda: self.computed(a @ b)

    def chain(self, count: int, kind: str) -> Program:
        """Six element-wise operations on `count` floats: arithmetic, or with exp and tanh among them."""
        x, y = self.floats(1, count), self.floats(2, count)
        steps = self.chained(kind)
        return lambda: self.computed(steps(x, y))

    def steps(self, kind: str, exp: Any, tanh: Any, maximum: Any) -> Callable[..., Any]:
        if kind == "arithmetic":
            return lambda x, y: maximum(((x * y) + x) * 0.5 - y, x) * y
        return lambda x, y: tanh((exp(x * 0.5) + y) * x) - y

    def chained(self, kind: str) -> Callable[..., Any]:
        raise NotImplementedError

    def operation(self, name: str, dtype: str, shapes: list[list[int]], seed: int, gradient: bool) -> Program:
        (found,) = (operation for operation in OPERATIONS if operation.name == name)
        return program_of(found, dtype, [tuple(shape) for shape in shapes], seed, gradient, self)

    def one_element(self, name: str) -> Program:
        """An operation and its gradient for arrays of one element."""
        count = 2 if name in ("add", "multiply") else 1
        return self.operation(name, "float32", [[1]] * count, 1, True)

    def conv(self, batch: int, channels: int, extent: int) -> Program:
        """A convolution by 3 x 3 with the gradients of input and weights."""
        x, w = self.floats(1, batch, channels, extent, extent), self.floats(2, channels, channels, 3, 3)
        (found,) = (operation for operation in OPERATIONS if operation.name == "conv2d")
        return self.with_gradients(self.function(found), [x, w], self.floats(3, batch, channels, extent, extent))

    def layers(self, batch: int, width: int) -> Program:
        """Ten layers: a product, a bias and relu; the mean square of the last one with the gradients of all weights."""
        x = self.floats(1, batch, width)
        weights = [self.array(np.random.default_rng(i).standard_normal((width, width), np.float32) / width ** 0.5, "float32")
                   for i in range(LAYERS)]
        biases = [self.floats(20 + i, width) for i in range(LAYERS)]
        return self.trained(x, weights, biases)

    def trained(self, x: Any, weights: list[Any], biases: list[Any]) -> Program:
        raise NotImplementedError


class Vectis(Side):
    def __init__(self, threads: int) -> None:
        import vectis
        import vectis.array as xp
        vectis.set_threads(threads)
        self.vectis, self.xp = vectis, xp

    def array(self, values: np.ndarray, dtype: str) -> Any:
        made = self.xp.asarray(values.astype(dtype if dtype != "bfloat16" else "float32"))
        return self.computed(made.astype(getattr(self.xp, dtype)))

    def function(self, operation: Operation) -> Callable[..., Any]:
        return lambda *x: operation.ours(self.xp, *x)

    def computed(self, result: Any) -> Any:
        if isinstance(result, (tuple, list)):
            self.xp.eval(*result)
        else:
            result.eval()
        return result

    def with_gradients(self, call: Callable[..., Any], variables: list[Any], adjoint: Any) -> Program:
        def run() -> Any:
            value, gradients = self.xp.vjp(call, variables, adjoint)
            self.xp.eval(value, *gradients)
            return value, gradients
        return run

    def chained(self, kind: str) -> Callable[..., Any]:
        return self.steps(kind, self.xp.exp, self.xp.tanh, self.xp.maximum)

    def trained(self, x: Any, weights: list[Any], biases: list[Any]) -> Program:
        xp = self.xp

        def loss(parameters: list[Any]) -> Any:
            value = x
            for weight, bias in zip(*parameters, strict=True):
                value = xp.relu(value @ weight + bias)
            return xp.mean(value * value)

        def run() -> Any:
            value, gradients = self.vectis.value_and_grad(loss)([weights, biases])
            xp.eval(value, *gradients[0], *gradients[1])
            return value, gradients
        return run


class Torch(Side):
    def __init__(self, threads: int) -> None:
        import torch
        torch.set_num_threads(threads)
        self.torch = torch

    def array(self, values: np.ndarray, dtype: str) -> Any:
        return self.torch.from_numpy(np.array(values)).to(getattr(self.torch, dtype))

    def function(self, operation: Operation) -> Callable[..., Any]:
        return lambda *x: operation.theirs(self.torch, *x)

    def with_gradients(self, call: Callable[..., Any], variables: list[Any], adjoint: Any) -> Program:
        leaves = [variable.requires_grad_() for variable in variables]

        def run() -> Any:
            value = call(*leaves)
            return value, self.torch.autograd.grad(value, leaves, adjoint)
        return run

    def chained(self, kind: str) -> Callable[..., Any]:
        return self.steps(kind, self.torch.exp, self.torch.tanh, self.torch.maximum)

    def trained(self, x: Any, weights: list[Any], biases: list[Any]) -> Program:
        leaves = [one.requires_grad_() for one in (*weights, *biases)]

        def run() -> Any:
            value = x
            for weight, bias in zip(weights, biases, strict=True):
                value = self.torch.relu(value @ weight + bias)
            loss = (value * value).mean()
            return loss.detach(), self.torch.autograd.grad(loss, leaves)
        return run


class Compiled(Torch):
    def chained(self, kind: str) -> Callable[..., Any]:
        return self.torch.compile(super().chained(kind))


class Numpy(Side):
    def array(self, values: np.ndarray, dtype: str) -> Any:
        return values.astype(dtype)

    def chained(self, kind: str) -> Callable[..., Any]:
        return self.steps(kind, np.exp, np.tanh, np.maximum)


def status(field: str) -> int:
    """Bytes of a field of /proc/self/status."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{field}:"))


def growth(program: Program) -> int:
    """By how much the resident memory exceeds that before the program, at most."""
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts again
    before = status("VmRSS")
    program()
    return status("VmHWM") - before


def seconds_clock(threads: int) -> Callable[[], int]:
    return time.process_time_ns if threads == 1 else time.perf_counter_ns


def serve(makers: dict[str, Callable[[int], Any]]) -> None:
    """Answers the requests for the library that the arguments name."""
    name, threads = sys.argv[1], int(sys.argv[2])
    side, clock = makers[name](threads), seconds_clock(threads)
    program: Any = lambda: None
    for line in sys.stdin:
        request = json.loads(line)
        answer: object = True
        try:
            if "prepare" in request:
                program = lambda: None  # releases the arrays of the last one
                program = getattr(side, request.pop("prepare"))(**request)
            elif "call" in request:
                answer = getattr(program, request.pop("call"))(**request)
            elif "memory" in request:
                answer = growth(program)
            else:
                count = request["run"]
                start = clock()
                for _ in range(count):
                    program()
                answer = (clock() - start) / count
        except Exception as reason:  # of whatever library: the other side reports it
            answer = {"failed": f"{type(reason).__name__}: {reason}"}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    serve({"vectis": Vectis, "torch": Torch, "compiled": Compiled, "numpy": lambda threads: Numpy()})
