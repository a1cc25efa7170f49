"""Six element-wise operations over 10 M floats: Vectis, a fused loop by hand and NumPy, measured in turns."""

import argparse
import json
import statistics
import subprocess
import time

import numpy

A, B, C, D = (numpy.float32(value) for value in (1.25, 0.5, 0.75, 3.0))


def expression(x):
    return numpy.maximum((x * A + B) * x - C, numpy.float32(0)) * D


def in_place(x, y):
    numpy.multiply(x, A, out=y)
    numpy.add(y, B, out=y)
    numpy.multiply(y, x, out=y)
    numpy.subtract(y, C, out=y)
    numpy.maximum(y, numpy.float32(0), out=y)
    numpy.multiply(y, D, out=y)


class Peer:
    """The program that answers a name with the nanoseconds of one pass."""

    def __init__(self, program, count):
        self.process = subprocess.Popen([program, str(count)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("--count", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=21)
    arguments = parser.parse_args()

    peer = Peer(arguments.program, arguments.count)
    x = (numpy.arange(arguments.count) % 1000).astype(numpy.float32) / numpy.float32(250) - numpy.float32(2)
    y = numpy.empty_like(x)

    def timed(function, *operands):
        start = time.perf_counter_ns()
        function(*operands)
        return time.perf_counter_ns() - start

    ways = {name: (lambda name=name: peer.ask(name)) for name in ("vectis", "hand", "hand-streaming")}
    ways["numpy"] = lambda: timed(expression, x)
    ways["numpy-in-place"] = lambda: timed(in_place, x, y)
    assert peer.ask("check") == 0, "the results differ"
    times = {name: [] for name in ways}
    for measure in ways.values():
        measure()
    for _ in range(arguments.rounds):
        for name, measure in ways.items():
            times[name].append(measure())
    median = {name: statistics.median(values) for name, values in times.items()}
    report = {"count": arguments.count, "rounds": arguments.rounds, "milliseconds": {n: m / 1e6 for n, m in median.items()}}
    report["of_hand_written"] = min(median["hand"], median["hand-streaming"]) / median["vectis"]
    report["of_hand_written_plain_stores"] = median["hand"] / median["vectis"]
    report["times_numpy"] = median["numpy"] / median["vectis"]
    report["times_numpy_in_place"] = median["numpy-in-place"] / median["vectis"]
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
