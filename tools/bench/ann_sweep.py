"""Evaluates sweeps of settings: Pareto fronts, the time at a recall, and ratios between rounds."""

import math
import statistics

Point = tuple[float, float]  # recall, milliseconds of CPU time
TOLERANCE = 1.1  # a setting this much slower than a better one may still be the best when measured again


def front(points: list[Point]) -> list[Point]:
    """The Pareto front, by ascending recall."""
    best: list[Point] = []
    for recall, time in sorted(points, key=lambda point: (point[1], -point[0])):
        if not best or recall > best[-1][0]:
            best.append((recall, time))
    return best


def worth_measuring(settings: list[str], points: list[Point]) -> list[str]:
    """The settings on the Pareto front or near it."""
    best = front(points)
    return [setting for setting, (recall, time) in zip(settings, points, strict=True)
            if not any(better >= recall and quicker * TOLERANCE < time for better, quicker in best)]


def time_at(points: list[Point], recall: float) -> float | None:
    """The CPU time at a recall, interpolated between two settings in the logarithm of the time."""
    best = front(points)
    for (low, quick), (high, slow) in zip(best, best[1:], strict=False):
        if low < recall <= high:
            part = (recall - low) / (high - low)
            return math.exp(math.log(quick) * (1 - part) + math.log(slow) * part)
    return best[0][1] if best and best[0][0] >= recall else None


def interval(ratios: list[float]) -> dict:
    """The median and its 95 % bootstrap confidence interval."""
    import numpy
    medians = numpy.median(numpy.random.default_rng(1).choice(ratios, (4000, len(ratios))), axis=1)
    return {"median": statistics.median(ratios), "low": float(numpy.percentile(medians, 2.5)),
            "high": float(numpy.percentile(medians, 97.5))}


def rates(rounds: list[list[Point]], queries: int, recalls: tuple[float, ...]) -> dict[str, float | None]:
    """Queries per second at each recall, median of rounds."""
    result = {}
    for recall in recalls:
        times = [time for time in (time_at(points, recall) for points in rounds) if time]
        result[str(recall)] = queries / statistics.median(times) * 1e3 if times else None
    return result


def ratio(theirs: list[list[Point]], ours: list[list[Point]], recall: float) -> dict | None:
    """The speedup of ours, by round, so that both sides ran under the same load."""
    pairs = [(time_at(a, recall), time_at(b, recall)) for a, b in zip(theirs, ours, strict=False)]
    ratios = [a / b for a, b in pairs if a and b]
    return interval(ratios) if ratios else None


def medians(rounds: list[list[Point]]) -> list[Point]:
    """One point per setting."""
    return [(statistics.median(point[0] for point in points), statistics.median(point[1] for point in points))
            for points in zip(*rounds, strict=True)]
