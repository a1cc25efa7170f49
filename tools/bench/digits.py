"""Training on scikit-learn's digits to 97 %, as whole processes: `python3 -m tools.bench.digits`. Each runs on one core."""

import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.bench.array_contest import ROOT, Failed, python

PROGRAM = ROOT / "build" / "release" / "bin" / "train_digits"
TORCH = ROOT / "tools" / "bench" / "digits_torch.py"
RUNS = 9
WRITE = """
import sys
import numpy as np
from sklearn.datasets import load_digits
digits = load_digits()
order = np.random.default_rng(1).permutation(len(digits.target))
np.save(sys.argv[1] + "/images.npy", (digits.data[order] / 16).astype(np.float32))
np.save(sys.argv[1] + "/labels.npy", digits.target[order].astype(np.int64))
"""


@dataclass(frozen=True)
class Use:
    """What a process used from its start to its end."""

    seconds: float  # of the clock
    peak_bytes: int  # resident


def write_digits(folder: Path) -> None:
    """Writes images.npy, 1,797 rows of 64 numbers from 0 to 1, and labels.npy, in an order drawn once."""
    subprocess.run([python(), "-c", WRITE, folder], check=True)


def run(command: Sequence[object]) -> Use:
    start = time.monotonic()
    process = subprocess.Popen(["taskset", "--cpu-list", "0", *map(str, command)])
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise Failed(f"{command[0]} ended with {process.returncode}")
    return Use(time.monotonic() - start, usage.ru_maxrss * 1024)


def measure(runs: int = RUNS) -> tuple[Use, Use]:
    """The medians of ours and of PyTorch's, with a seed for each run, in turns."""
    with tempfile.TemporaryDirectory() as folder:
        write_digits(Path(folder))
        files = [f"{folder}/images.npy", f"{folder}/labels.npy"]
        used: dict[str, list[Use]] = {"vectis": [], "torch": []}
        for number in range(runs + 1):
            for name, program in (("vectis", [PROGRAM]), ("torch", [python(), TORCH])):
                use = run([*program, *files, number])
                if number:  # the first one reads the files of the libraries
                    used[name].append(use)

    def median(uses: list[Use]) -> Use:
        return Use(statistics.median(use.seconds for use in uses), round(statistics.median(use.peak_bytes for use in uses)))
    return median(used["vectis"]), median(used["torch"])


if __name__ == "__main__":
    for name, use in zip(("vectis", "torch"), measure(), strict=True):
        print(f"{name:<8}{use.seconds:6.2f} s{use.peak_bytes / 2**20:8.0f} MiB")
