"""Writes what `vectis report` predicts times with, the counted instructions of kernels and the cards of the roofline, and
the times of the page that a test compares with its predictions, as rows of C++ tables."""

from pathlib import Path

from tools.gpu_evidence import mix, page, roofline
from tools.gpu_evidence.collect import READ, Evidence

FOLDER = Path("src") / "search" / "report"
HEAD = "// Written by `python3 -m tools.gpu_evidence`; do not edit.\n// clang-format off\n"
UNITS = {"FFMA": "fused", "IDP": "dots", "IMMA": "matrix", "IMAD": "none"}
# What a card's driver calls it, or a part of that.
DRIVER_NAMES = {"RTX 4090": "GeForce RTX 4090", "A100 SXM 80 GB": "A100-SXM4-80GB", "H100 SXM": "H100 80GB HBM3",
                "B200": "NVIDIA B200", "MI300X": "MI300X", "M3 Max, 40 cores": "Apple M3 Max"}


def kernels(evidence: Evidence) -> str:
    """A row for each kernel that makes a tile: its label, the unit that multiplies, the elements of a vector that are
    multiplied in a round, and for each architecture the instructions for one result in the loop over 128 elements and
    outside of it."""
    by_label = [evidence.of(architecture) for architecture in READ]
    lines = []
    for one in evidence.kernels:
        costs = [rows[one.label].cost for rows in by_label]
        if costs[0] is None:
            continue
        counted = ", ".join(f"{{{cost.loop:.2f}, {cost.rest:.2f}}}" for cost in costs)
        unit = UNITS[mix.step_operation(one)]
        lines.append(f'{{"{one.label}", Unit::{unit}, {one.depth * one.packed}, {{{{{counted}}}}}}},\n')
    return HEAD + f"// Instructions for {' / '.join(READ)}.\n" + "".join(lines)


def cards() -> str:
    lines = []
    for card in roofline.CARDS:
        cycles = card.units * card.clock * 1e9
        matrix = card.peaks["i8"] * 1e12 / 2 if card.mma else 0
        rates = ", ".join(f"{rate:.6g}" for rate in (card.memory * 1e9, cycles * card.issue, cycles * card.fused,
                                                     cycles * card.dots, matrix))
        lines.append(f'{{"{card.name}", "{DRIVER_NAMES[card.name]}", {card.units}, {READ.index(card.architecture)}, '
                     f'{rates}}},\n')
    return HEAD + "".join(lines)


def searches(evidence: Evidence) -> str:
    """A row for each time of the roofline: the card as its driver describes it, the kernel, the bytes that are read with a
    row, the queries, the seconds, and the wall."""
    lines = []
    estimates = page.shares(evidence)
    for card in roofline.CARDS:
        for element, size in roofline.BYTES.items():
            for queries, made in zip(roofline.BATCHES, estimates[card.name, element], strict=True):
                label = page.scan_of(evidence, card, element, queries).label
                lines.append(f'{{"{DRIVER_NAMES[card.name]}", {card.units}, "{label}", '
                             f'{roofline.COLUMNS * size + roofline.TERMS}, {queries}, {made.milliseconds * 1e-3:.6g}, '
                             f'"{made.wall}"}},\n')
    return HEAD + "".join(lines)


def write(evidence: Evidence) -> dict[Path, str]:
    return {FOLDER / "counted_kernels.inc": kernels(evidence), FOLDER / "cards.inc": cards(),
            FOLDER / "modeled_searches.inc": searches(evidence)}
