"""Filtered searches on held-out sets: random, correlated and anti-correlated filters of ann_filters.py."""

from tools.bench import ann_filters
from tools.bench.ann_contest import ROOT, Field, Kept
from tools.bench.any_data_measure import shortfall

KINDS = ("random", "same side", "other side")
ROUNDS = 5
TIME_MAX = 1.1  # times the better of scanning the allowed rows and post-filtering
ERRORS_MAX = 2  # standard errors below the recall asked for


def figures(field: Field) -> list[dict]:
    name = field.data.name
    kept = Kept(ROOT / "build" / "soak" / f"any-data-filters-{name}-parts.json")
    result = []
    for case, one in ann_filters.filters(field, kept, ROUNDS, KINDS).items():
        found = one["graph"]
        short = shortfall({"asked": ann_filters.ASKED, "found": found["recall"], "error": found["error"]})
        result += [{"name": f"{name}: filter {case} pass, found {found['recall']:.3f} of {ann_filters.ASKED}",
                    "value": round(short, 2), "unit": "standard errors below", "aim": f"<= {ERRORS_MAX}"},
                   {"name": f"{name}: filter {case} pass, time", "value": round(one["ratio"]["median"], 3),
                    "unit": f"times {one['better']}", "aim": f"<= {TIME_MAX}"}]
    return result
