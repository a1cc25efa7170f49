"""Operations of arrays on the CPU beside PyTorch, measured in turns with the same number of threads.

Prints for each case the medians in milliseconds, PyTorch's time over ours, and both errors: the largest one relative to
the largest element of the result in float64.
"""

import argparse
import json
import statistics
import subprocess
import time

import torch

# The shapes as tests/arrays/arrays_bench.cpp reads them.
CASES = {
    "conv2d 3x3, 64 to 64, 56x56, batch 16": "conv 16 64 64 56 3 1 1 1 2",
    "conv2d 1x1, 256 to 64, 56x56, batch 16": "conv 16 256 64 56 1 1 1 0 2",
    "conv2d depthwise 3x3, 128, 56x56, batch 16": "conv 16 128 128 56 3 128 1 1 2",
    "conv2d 7x7 step 2, 3 to 64, 224x224, batch 4": "conv 4 3 64 224 7 1 2 3 2",
    "conv1d 5, 64 to 128, 4096, batch 8": "conv 8 64 128 4096 5 1 1 2 1",
    "max_pool 2x2, 64, 112x112, batch 16": "max_pool 16 64 112 2 2",
    "softmax 1000 x 1000": "softmax 1000 1000",
    "softmax 64 x 50000": "softmax 64 50000",
    "sum of 10 M": "sum 10000000",
    "max of 10 M": "max 10000000",
}


class Program:
    """Our side: the program that answers each line with a number."""

    def __init__(self, program: str, threads: int) -> None:
        self.process = subprocess.Popen([program, str(threads)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, line: str) -> float:
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())


def with_gradients(function):
    """`function` with its gradients: the last input is the gradient of its result."""

    def call(*inputs):
        variables = [x.detach().requires_grad_() for x in inputs[:-1]]
        value = function(*variables)
        return [value.detach(), *torch.autograd.grad(value, variables, inputs[-1])]

    return call


def conv_case(batch, inputs, outputs, extent, window, groups, step, padding, axes):
    conv = {1: torch.nn.functional.conv1d, 2: torch.nn.functional.conv2d, 3: torch.nn.functional.conv3d}[axes]
    positions = (extent + 2 * padding - window) // step + 1

    def make(samples):
        return [torch.randn(samples, inputs, *[extent] * axes), torch.randn(outputs, inputs // groups, *[window] * axes),
                torch.randn(samples, outputs, *[positions] * axes)]

    return with_gradients(lambda x, w: conv(x, w, stride=step, padding=padding, groups=groups)), make(batch), make(1)


def pool_case(batch, channels, extent, window, step):
    positions = (extent - window) // step + 1
    inputs = [torch.randn(batch, channels, extent, extent), torch.randn(batch, channels, positions, positions)]
    return with_gradients(lambda x: torch.nn.functional.max_pool2d(x, window, step)), inputs, inputs


def parse(line: str):
    """The function, its inputs, and smaller ones for the comparison with float64."""
    name, *words = line.split()
    numbers = [int(word) for word in words]
    if name == "conv":
        return conv_case(*numbers)
    if name == "max_pool":
        return pool_case(*numbers)
    inputs = [torch.randn(*numbers)]
    functions = {"softmax": lambda x: [torch.softmax(x, -1)], "sum": lambda x: [x.sum()], "max": lambda x: [x.max()]}
    return functions[name], inputs, inputs


def error_of(function, inputs) -> float:
    found = function(*inputs)
    expected = function(*[x.double() for x in inputs])
    return max(((f.double() - e).abs().max() / e.abs().max()).item() for f, e in zip(found, expected))


def measure(program: Program, line: str, rounds: int) -> dict:
    function, inputs, checked = parse(line)
    errors = {"vectis": program.ask(line), "torch": error_of(function, checked)}
    times = {"vectis": [], "torch": []}
    for _ in range(rounds + 2):  # the first two prepare
        times["vectis"].append(program.ask("run"))
        start = time.perf_counter_ns()
        function(*inputs)
        times["torch"].append(time.perf_counter_ns() - start)
    medians = {name: statistics.median(values[2:]) / 1e6 for name, values in times.items()}
    return {"milliseconds": medians, "ratio": medians["torch"] / medians["vectis"], "errors": errors}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--case", default="", help="only cases whose name contains this")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    program = Program(arguments.program, arguments.threads)
    report = {name: measure(program, line, arguments.rounds) for name, line in CASES.items() if arguments.case in name}
    if arguments.json:
        print(json.dumps({"threads": arguments.threads, "rounds": arguments.rounds, "cases": report}, indent=2))
        return
    print(f"{'case':<46}{'vectis ms':>10}{'torch ms':>10}{'ratio':>7}   errors")
    for name, row in report.items():
        times, errors = row["milliseconds"], row["errors"]
        print(f"{name:<46}{times['vectis']:>10.2f}{times['torch']:>10.2f}{row['ratio']:>7.2f}"
              f"   {errors['vectis']:.1e} {errors['torch']:.1e}")


if __name__ == "__main__":
    main()
