"""What the sets of `./dev bench any-data` show together, from the figures of the cells of `./dev soak any-data`."""

import math
import re
from collections.abc import Iterable

from tools.evidence import Figure

NO_OTHER = 1e6  # the ratio at a recall that no other library reached; means leave it out


def values(figures: Iterable[Figure], pattern: str) -> list[float]:
    """Of the figures whose names match."""
    return [figure.value for figure in figures if re.search(pattern, figure.name)]


def geometric_mean(numbers: list[float]) -> float:
    """0 when one is 0 or there is none."""
    return math.exp(sum(map(math.log, numbers)) / len(numbers)) if numbers and min(numbers) > 0 else 0.0


def mean(numbers: list[float]) -> float:
    return sum(numbers) / len(numbers) if numbers else math.inf


def summary(half: str, sets: int, figures: list[Figure]) -> list[Figure]:
    """The figures of a half, from those of its sets; `sets` is how many it has."""
    def named(what: str, value: float, unit: str, aim: str) -> Figure:
        return Figure.measured(f"{half}: {what}", round(value, 3), unit, aim)

    ratios = {(kind, recall): values(figures, rf": {kind} at {recall}, against") for kind in ("single", "batch")
              for recall in ("0.9", "0.95", "0.99")}
    every = [ratio for numbers in ratios.values() for ratio in numbers]
    builds, within = values(figures, ": CPU time to build$"), values(figures, ": recalls found within")
    slower = values(figures, ": slowest search, ")
    result = [named("sets measured", len(within), "sets", f">= {sets}")]
    for (kind, recall), numbers in ratios.items():
        finite = [ratio for ratio in numbers if ratio < NO_OTHER]
        result.append(named(f"{kind} at {recall}, geometric mean of {len(finite)} sets", geometric_mean(finite),
                            "times the best other library", ">= 1.2"))
    return [*result,
            named("smallest ratio of any set", min(every, default=0), "times the best other library", ">= 0.9"),
            named("slowest search of any set", max(slower, default=math.inf), "times own exact search", "<= 1.1"),
            named("CPU time to build, geometric mean", geometric_mean(builds) or math.inf, "times hnswlib", "<= 0.7"),
            named("CPU time to build, largest", max(builds, default=math.inf), "times hnswlib", "<= 1.15"),
            named("bytes per vector, mean", mean(values(figures, ": bytes per vector$")), "times hnswlib", "<= 1.25"),
            named("bytes per vector without full precision, mean",
                  mean(values(figures, ": bytes per vector without full precision$")), "times hnswlib", "<= 0.6"),
            named("recalls found within two standard errors", mean(within) if within else 0, "of the recalls", ">= 0.97"),
            named("largest shortfall", max(values(figures, ": largest shortfall of "), default=math.inf), "standard errors",
                  "<= 3.5"),
            named("time of a lower recall asked for, largest",
                  max(values(figures, ": time of a lower recall asked for"), default=math.inf),
                  "times that of a higher one", "<= 1.1")]
