"""A random sample of operations of arrays beside PyTorch: `python3 -m tools.bench.array_sample [--seed N] [--cells N]`.

A cell is an operation with its gradients or without, an element type and shapes of 1 to 4 million elements. Prints
PyTorch's time over ours, the slowest cells last, and the geometric mean."""

import argparse
import math
import random
from dataclasses import dataclass
from pathlib import Path

from tools import seed
from tools.bench.array_contest import Contest, Failed, geometric_mean
from tools.bench.array_operations import OPERATIONS, Shape, is_real

ROOT = Path(__file__).resolve().parents[2]
ELEMENTS = 4_000_000
ROUNDS = 9


@dataclass(frozen=True)
class Cell:
    operation: str
    dtype: str
    shapes: tuple[Shape, ...]
    gradient: bool

    def __str__(self) -> str:
        shapes = ", ".join("×".join(map(str, shape)) for shape in self.shapes)
        return f"{self.operation}{' with gradient' if self.gradient else ''}, {self.dtype}, {shapes}"


def draw(rng: random.Random) -> Cell:
    operation = rng.choice(OPERATIONS)
    dtype = rng.choice(operation.types)
    size = round(math.exp(rng.uniform(0, math.log(ELEMENTS))))
    shapes = tuple(operation.extents(rng, size))
    gradient = operation.has_gradient and is_real(dtype) and rng.random() < 0.5
    return Cell(operation.name, dtype, shapes, gradient)


def measure(cells: int, chosen: int, only: str = "", threads: int = 1) -> dict[Cell, float]:
    """PyTorch's time over ours of each cell. One that PyTorch cannot compute is drawn again."""
    rng = random.Random(chosen)
    found: dict[Cell, float] = {}
    with Contest(["torch"], threads) as contest:
        while len(found) < cells:
            cell = draw(rng)
            if only not in cell.operation:
                continue
            try:
                found[cell] = contest.ratios(ROUNDS, prepare="operation", name=cell.operation, dtype=cell.dtype,
                                             shapes=cell.shapes, seed=1, gradient=cell.gradient)["torch"]
                print(f"{found[cell]:8.2f}  {cell}", flush=True)
            except Failed as reason:
                print(f"          {cell}: {str(reason)[:150]}", flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=seed.chosen(ROOT))
    parser.add_argument("--cells", type=int, default=30)
    parser.add_argument("--only", default="", help="only operations whose name contains this")
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    found = measure(arguments.cells, arguments.seed, arguments.only, arguments.threads)
    print(f"seed {arguments.seed}, {len(found)} cells, geometric mean {geometric_mean(found.values()):.2f}; slowest:")
    for cell, ratio in sorted(found.items(), key=lambda item: item[1])[:5]:
        print(f"{ratio:8.2f}  {cell}")


if __name__ == "__main__":
    main()
