"""Line coverage per layer from the coverage build, as a table and as docs/coverage.md."""

import json
import subprocess
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

AIM = 95.0


@dataclass
class Lines:
    covered: int = 0
    total: int = 0
    missed: dict[str, list[int]] = field(default_factory=dict)  # by file

    @property
    def percent(self) -> float:
        return 100.0 * self.covered / self.total if self.total else 100.0


def measure(root: Path, build: Path) -> dict[str, Lines]:
    """Coverage by layer, from the counters that test runs left in `build`."""
    report = build / "coverage.json"
    command = [root / "build/venv/bin/gcovr", "--root", root, "--object-directory", build, "--gcov-executable", "gcov-12",
               "--exclude-throw-branches", "--exclude-unreachable-branches",
               # Counters race between threads, so they can be negative; counts above 2^32 occur in element loops.
               "--gcov-ignore-parse-errors=negative_hits.warn", "--gcov-ignore-parse-errors=suspicious_hits.warn",
               "--filter", "include/", "--filter", "src/",
               "--filter", "backends/", "--filter", "apps/", "--exclude", r".*_test\.cpp", "--json", report]
    subprocess.run([str(word) for word in command], cwd=root, check=True)
    return by_layer(json.loads(report.read_text()))


def layer_of(path: str) -> str:
    parts = path.split("/")
    if parts[0] == "include":
        return "src/" + parts[2].removesuffix(".hpp")
    return "/".join(parts[:2])


def by_layer(report: dict) -> dict[str, Lines]:
    layers: dict[str, Lines] = defaultdict(Lines)
    for file in report["files"]:
        counts: dict[int, int] = defaultdict(int)
        for line in file["lines"]:
            if not line.get("gcovr/noncode"):
                counts[line["line_number"]] += line["count"]
        lines = layers[layer_of(file["file"])]
        lines.total += len(counts)
        missed = sorted(number for number, count in counts.items() if count == 0)
        lines.covered += len(counts) - len(missed)
        if missed:
            lines.missed[file["file"]] = missed
    return dict(sorted(layers.items()))


def ranges(numbers: list[int]) -> str:
    """Sorted numbers as "3-5, 9"."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def page(layers: dict[str, Lines]) -> str:
    text = ["# Line coverage", "",
            "<!-- Written by ./dev soak ground. Why the gaps are there: coverage-gaps.md. -->", "",
            f"By layer, public headers counted with their sources; the aim is {AIM:g} %. Reasons for uncovered lines:",
            "[coverage-gaps.md](coverage-gaps.md).", "",
            "| layer | lines | covered | % |", "|---|---:|---:|---:|"]
    text += [f"| `{name}` | {lines.total} | {lines.covered} | {lines.percent:.1f} |" for name, lines in layers.items()]
    text += ["", "## Uncovered lines", ""]
    for lines in layers.values():
        text += [f"- `{file}`: {ranges(missed)}" for file, missed in sorted(lines.missed.items())]
    return "\n".join(text) + "\n"
