"""Every operation of arrays against float64 and PyTorch: `python -m tools.bench.array_agreement SEED CASES`.

Random shapes, views and element types, no elements and arrays without axes, and edge values: NaN, infinities, -0, the
largest and the smallest numbers. A value may be as far from PyTorch's in float64 as the operation's `units` of the type's
rounding, or as PyTorch's in the same type. Gradients likewise. Prints what disagrees, then a line of JSON."""

import json
import random
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

import vectis.array as xp
from tools.bench.array_operations import OPERATIONS, Operation, Shape, is_real
from tools.bench.array_peer import inputs_of

ROUNDING = {"float64": 2.0**-53, "float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}
SMALLEST = {"float64": 2.0**-1022, "float32": 2.0**-126, "float16": 2.0**-14, "bfloat16": 2.0**-126}
EDGES = {"float64": 1e308, "float32": 3e38, "float16": 6e4, "bfloat16": 3e38}


@dataclass(frozen=True)
class Arrays:
    """The same array in both libraries, and PyTorch's in float64."""

    ours: Any
    theirs: torch.Tensor
    wide: torch.Tensor


def rounded(values: np.ndarray, dtype: str) -> torch.Tensor:
    return torch.from_numpy(np.array(values)).to(getattr(torch, dtype))


def to_ours(tensor: torch.Tensor) -> Any:
    dtype = str(tensor.dtype).removeprefix("torch.")
    if dtype == "bfloat16":
        return xp.asarray(tensor.float().numpy()).astype(xp.bfloat16)
    return xp.asarray(tensor.numpy())


def viewed(rng: random.Random, values: torch.Tensor) -> tuple[torch.Tensor, Callable[[Any], Any]]:
    """An array with these values as a view of it: the base, and the function that makes the view."""
    kind = rng.choice(("whole", "transposed", "every second", "inner"))
    if values.ndim < 2 or kind == "whole":
        return values, lambda x: x
    if kind == "transposed":
        order = list(range(values.ndim))
        rng.shuffle(order)
        back = [order.index(axis) for axis in range(values.ndim)]
        base = values.permute(order).contiguous()
        return base, lambda x: x.permute(back) if isinstance(x, torch.Tensor) else xp.permute_dims(x, back)
    if kind == "every second":
        base = torch.repeat_interleave(values, 2, 0)
        return base, lambda x: x[::2]
    return torch.nn.functional.pad(values, (1, 1)), lambda x: x[..., 1:-1]


def arrays_of(rng: random.Random, operation: Operation, shapes: list[Shape], dtype: str, seed: int, edges: bool) -> list[Arrays]:
    made = []
    for i, values in enumerate(inputs_of(operation, shapes, dtype, seed)):
        is_index = i >= len(shapes) - operation.indices
        if edges and is_real(dtype) and not is_index:
            special = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, 1.0, -1.0, EDGES[dtype], SMALLEST[dtype] * 2])
            chosen = np.random.default_rng(seed + i).integers(0, 2 * len(special), values.shape)
            values = np.where(chosen < len(special), special[chosen % len(special)], values)
        exact = rounded(values, "int64" if is_index else dtype)
        base, view = viewed(rng, exact)
        theirs = view(base)
        made.append(Arrays(view(to_ours(base)), theirs, theirs.double() if is_real(dtype) and not is_index else theirs))
    return made


def flat(result: Any) -> list[Any]:
    return list(result) if isinstance(result, (tuple, list)) else [result]


def numbers(result: Any) -> np.ndarray:
    if isinstance(result, torch.Tensor):
        result = result.detach()
        return (result.float() if result.dtype is torch.bfloat16 else result).numpy().astype(np.float64)
    return np.asarray(result).astype(np.float64)


def problem(operation: Operation, dtype: str, ours: Any, theirs: Any, wide: Any) -> str:
    """What is wrong with our values; "" if nothing."""
    found, peer, truth = numbers(ours), numbers(theirs), numbers(wide)
    if found.shape != truth.shape:
        return f"shape {found.shape}, not {truth.shape}"
    if not found.size:
        return ""
    if not is_real(dtype):
        return "" if np.array_equal(found, peer) else f"{np.sum(found != peer)} values differ"
    with np.errstate(all="ignore"):
        finite = np.isfinite(truth)
        largest = np.abs(truth[finite]).max(initial=0)
        is_sum = operation.units > 8
        scale = np.maximum(np.abs(truth), largest if is_sum else np.minimum(largest, 1))
        allowed = operation.units * ROUNDING[dtype] * np.where(finite, scale, 1) + SMALLEST[dtype]
        error, other = np.abs(found - truth), np.abs(peer - truth)
        beyond = np.abs(truth) > EDGES[dtype]  # may overflow
        good = (error <= np.maximum(allowed, 2 * other)) | (found == truth) | (found == peer) | beyond & (np.abs(found) >= EDGES[dtype])
        good |= np.isnan(found) & (np.isnan(truth) | np.isnan(peer))
    if good.all():
        return ""
    at = np.unravel_index(np.argmin(good), good.shape)
    return f"{np.sum(~good)} of {good.size} values, such as {found[at]!r} where PyTorch has {peer[at]!r} and float64 {truth[at]!r}"


def check_values(operation: Operation, dtype: str, arrays: list[Arrays]) -> str:
    try:
        theirs = flat(operation.theirs(torch, *(x.theirs for x in arrays)))
        if operation.reference:
            wide = [torch.from_numpy(np.asarray(operation.reference(np, *(x.wide.numpy() for x in arrays))))]
        else:
            wide = flat(operation.theirs(torch, *(x.wide for x in arrays)))
    except (RuntimeError, IndexError):
        return "skipped"  # PyTorch does not compute this
    ours = flat(operation.ours(xp, *(x.ours for x in arrays)))
    return next(filter(None, (problem(operation, dtype, *one) for one in zip(ours, theirs, wide, strict=True))), "")


def check_gradients(operation: Operation, dtype: str, arrays: list[Arrays], seed: int) -> str:
    count = len(arrays) - operation.indices
    if not all(x.theirs.numel() for x in arrays):
        return ""

    def theirs(of: str) -> tuple[list[torch.Tensor], torch.Tensor]:
        variables = [getattr(x, of).detach().clone().requires_grad_() for x in arrays[:count]]
        value = operation.theirs(torch, *variables, *(x.theirs for x in arrays[count:]))
        exact = rounded(np.asarray(np.random.default_rng([seed, 1]).uniform(-1, 1, tuple(value.shape))), dtype)
        return list(torch.autograd.grad(value, variables, exact.to(value.dtype))), exact

    try:
        peer, exact = theirs("theirs")
        wide, _ = theirs("wide")
    except RuntimeError:
        return "skipped"
    call = lambda *x: operation.ours(xp, *x, *(one.ours for one in arrays[count:]))
    _, ours = xp.vjp(call, [x.ours for x in arrays[:count]], to_ours(exact))
    wrong = next(filter(None, (problem(operation, dtype, *one) for one in zip(ours, peer, wide, strict=True))), "")
    return wrong and f"gradient: {wrong}"


def check(operation: Operation, rng: random.Random, number: int) -> str:
    """One random case."""
    dtype = rng.choice(operation.types)
    size = rng.choice((1, rng.randint(2, 40), rng.randint(40, 3000)))
    shapes = operation.extents(rng, size)
    if operation.has_edges and operation.extents.__name__ in ("one", "two") and number % 8 == 0:
        shapes = [rng.choice(((), (0,), (3, 0)))] * len(shapes)  # a scalar, or nothing
    edges = operation.has_edges and not operation.own_edges and number % 3 == 1
    value_seed = rng.randrange(2**31)
    arrays = arrays_of(rng, operation, shapes, dtype, value_seed, edges)
    found = check_values(operation, dtype, arrays)
    if not found and operation.has_gradient and is_real(dtype) and not edges:
        found = check_gradients(operation, dtype, arrays, value_seed)
    return found and (found if found == "skipped" else f"{operation.name}, {dtype}, {shapes}{', edge values' if edges else ''}: {found}")


def main() -> None:
    seed, cases = int(sys.argv[1]), int(sys.argv[2])
    only = sys.argv[3] if len(sys.argv) > 3 else ""
    print(f"seed {seed}")
    agreeing, skipped = 0, 0
    for operation in OPERATIONS:
        if only not in operation.name:
            continue
        rng = random.Random(f"{seed} {operation.name}")
        results = []
        for number in range(cases):
            try:
                results.append(check(operation, rng, number))
            except Exception as reason:
                results.append(f"{operation.name}: {type(reason).__name__}: {reason}")
        wrong = [result for result in results if result and result != "skipped"]
        skipped += results.count("skipped")
        agreeing += not wrong
        for line in wrong[:3]:
            print(f"{len(wrong)}/{cases} {line}", flush=True)
    print(json.dumps({"operations": len(OPERATIONS), "agreeing": agreeing, "cases": len(OPERATIONS) * cases - skipped}))


if __name__ == "__main__":
    main()
