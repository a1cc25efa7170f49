"""docs/ann-bench.md, its plots, and the tables for a terminal, from the results of `./dev bench ann`."""

import re
from pathlib import Path

from tools.bench.ann_contest import OURS
from tools.bench.ann_libraries import GRAPHS

PICTURE = "ann-{}.svg"
_HEAD = """# How fast approximate search is

Written by `./dev bench ann --page` on {processor}, {cores} cores, k = 10.
Measured {commits}.

- The speed of a library is its queries per second of CPU time with one thread. Builds use two threads.
- The libraries run interleaved, in rounds. A ratio of two speeds compares runs of one round; the interval after a ratio is
  the 95 % interval of the median ratio.
- The search settings of a library are selected with 500 queries, and its speed is reported with 500 others. Vectis
  calibrates itself with vectors of the data set.
- No library was tuned on the data set hard-1m. Of peers that differ only in degree or codes, hard-1m has those that were
  fastest on hard-100k.

The measurements use three data sets:

- `hard-100k` and `hard-1m` are synthetic vectors of 128 dimensions: 1,000 overlapping clusters in 32 dimensions whose
  widths differ by up to 8 times ([tools/bench/exact_data.py](../tools/bench/exact_data.py)).
- `embeddings` are vectors of 384 dimensions that MiniLM computes from the descriptions of Debian's packages
  ([tools/bench/embeddings.py](../tools/bench/embeddings.py)).
"""
_TITLES = {"curves": "Speed by recall", "builds": "Building with two threads", "memory": "Memory in bytes per vector",
           "asked": "Requested and measured recall", "filters": "Filtered search at a requested recall of 0.95",
           "streaming": "Ten rounds of deleting and inserting 10 %"}


def _rate(value: float | None) -> str:
    return f"{value:,.0f}" if value else "–"


def _ratio(one: dict | None) -> str:
    return f"{one['median']:.2f} ({one['low']:.2f} to {one['high']:.2f})" if one else "–"


def _curves(table: dict) -> list[list[str]]:
    recalls = list(table["best"])
    lines = [["", *(f"at {recall}" for recall in recalls), "build, CPU s",
              *(f"speedup of Vectis at {recall}" for recall in recalls)]]
    for name, one in table["contestants"].items():
        marks = "".join(f" ({recall})" for recall, best in table["best"].items() if best == name)
        ratios = [_ratio(table["ratios"].get(name, {}).get(recall)) if name != OURS else "" for recall in recalls]
        lines.append([name + (" best graph peer" + marks if marks else ""),
                      *(_rate(one["rates"][recall]) for recall in recalls),
                      f"{one['build']['processor_ms'] / 1e3:.1f}", *ratios])
    return lines


def _builds(table: dict) -> list[list[str]]:
    lines = [["", "seconds", "CPU seconds", "queries/s at 0.9", "at 0.95", "at 0.99",
              "time of the fastest peer over Vectis"]]
    for name, one in table["contestants"].items():
        ratios = f"{_ratio(table['ratios']['ms'])}, CPU {_ratio(table['ratios']['processor_ms'])}"
        lines.append([name, f"{one['seconds']:.1f}", f"{one['processor_seconds']:.1f}",
                      *(_rate(one["rates"][recall]) for recall in ("0.9", "0.95", "0.99")),
                      ratios if name == OURS else ""])
    return lines


def _memory(table: dict) -> list[list[str]]:
    kinds = ("links", "codes", "originals", "total", "resident")
    return [["", *kinds], *([name, *(f"{one[kind]:.1f}" if kind in one else "" for kind in kinds)]
                            for name, one in table.items())]


def _asked(table: dict) -> list[list[str]]:
    return [["requested", "measured", "cost relative to the best fixed setting"],
            *([asked, f"{one['recall']:.4f}", f"{one['cost']:.2f}" if one["cost"] else "reached by no setting"]
              for asked, one in table["asked"].items())]


def _filters(table: dict) -> list[list[str]]:
    def cell(one: dict) -> str:
        return f"{one['ms']:.3f} ({one['recall']:.3f})"
    return [["filter, selectivity", "Vectis, ms (recall)", "post-filtering", "Vectis exact", "FAISS flat",
             "time relative to the best alternative"],
            *([name, *(cell(one[way]) for way in ("graph", "after", "exact", "flat")),
               f"{_ratio(one['ratio'])} × {one['better']}"] for name, one in table.items())]


def _streaming(table: dict) -> list[list[str]]:
    lines = [["", "rows", "recall after each round", "recall of fresh builds", "recall lost at equal work",
              "bytes relative to fresh", "resident relative to fresh", "search cost relative to fresh"]]
    for name, one in table.items():
        lines.append([name, f"{one['rows']:,}", " ".join(f"{line['streamed']['recall']:.3f}" for line in one["rounds"]),
                      " ".join(f"{line['fresh']['recall']:.3f}" for line in one["rounds"] if "fresh" in line),
                      f"{one['lost']:.4f}", f"{one['bytes']:.3f}", f"{one['resident']:.3f}", f"{one['cost']:.2f}"])
    return lines


_LINES = {"curves": _curves, "builds": _builds, "memory": _memory, "asked": _asked, "filters": _filters,
          "streaming": _streaming}


def text_of(table: str, report: dict) -> str:
    """For a terminal."""
    lines = _LINES[table](report["table"])
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    title = f"{report['set']}, {report['rows']:,} × {report['dim']}: {_TITLES[table].lower()}"
    return "\n".join([title, *("  ".join(word.ljust(width) for word, width in zip(line, widths, strict=True)).rstrip()
                               for line in lines)])


def _markdown(lines: list[list[str]]) -> str:
    head, *rest = lines
    text = "| " + " | ".join(head) + " |\n" + "|---" * len(head) + "|\n"
    return text + "".join("| " + " | ".join(line) + " |\n" for line in rest)


def draw(target: Path, report: dict) -> None:
    """Plots recall against queries per second: graph indexes as solid lines, others dashed."""
    import matplotlib
    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": "vectis", "font.size": 8, "svg.fonttype": "none"})
    from matplotlib import pyplot
    from tools.bench.ann_sweep import front
    figure, axis = pyplot.subplots(figsize=(7, 4.6))
    queries = 500
    colors = pyplot.get_cmap("tab20").colors
    for number, (name, one) in enumerate(report["table"]["contestants"].items()):
        points = [point for point in front([tuple(point) for point in one["points"]]) if point[0] >= 0.8]
        if not points:
            continue
        ours = name == OURS
        axis.plot([recall for recall, _ in points], [queries / ms * 1e3 for _, ms in points],
                  marker="o", markersize=4 if ours else 2.5, linewidth=2.4 if ours else 1,
                  linestyle="-" if ours or name in GRAPHS else "--", color="black" if ours else colors[number % 20],
                  label=name, zorder=3 if ours else 2)
    axis.set_yscale("log")
    axis.yaxis.set_major_formatter("{x:,.0f}")
    axis.yaxis.set_minor_formatter("{x:,.0f}")
    axis.set_xscale("function", functions=(lambda x: -_log10(1.0005 - x), lambda y: 1.0005 - 10 ** -y))
    ticks = (0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999)
    axis.set_xticks(ticks, [str(tick) for tick in ticks])
    axis.set_xlim(0.8, 1)
    axis.grid(which="both", linewidth=0.3)
    axis.set_xlabel("recall of the 10 nearest")
    axis.set_ylabel("queries per second of CPU time")
    axis.set_title(f"{report['set']}: {report['rows']:,} × {report['dim']}, one thread", loc="left", fontweight="bold",
                   fontsize=8)
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(fontsize=7, loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
    figure.tight_layout()
    figure.savefig(target, metadata={"Date": None} if target.suffix == ".svg" else None)
    pyplot.close(figure)
    if target.suffix == ".svg":  # a line for each group instead of one for each point
        target.write_text(re.sub(r"\s*\n\s*", " ", target.read_text()).replace(" <g ", "\n<g ") + "\n")


def _log10(values):
    import numpy
    return numpy.log10(numpy.maximum(values, 1e-6))


def write(root: Path, reports: dict[str, dict[str, dict]]) -> None:
    from tools.bench.exact_page import processor_name
    processor, cores = processor_name()
    commits = sorted({(report["date"][:10], report["commit"][:12]) for tables in reports.values()
                      for report in tables.values()})
    measured = ", ".join(f"{date}, commit `{commit}`" for date, commit in commits)
    text = _HEAD.format(commits=measured, processor=processor, cores=cores)
    for name, tables in reports.items():
        first = next(iter(tables.values()))
        text += f"\n## {name}: {first['rows']:,} × {first['dim']}\n"
        for table, title in _TITLES.items():
            if table not in tables:
                continue
            text += f"\n### {title}\n\n"
            if table == "curves":
                picture = PICTURE.format(name)
                draw(root / "docs" / picture, tables[table])
                text += f"![Recall against queries per second on {name}]({picture})\n\n"
            text += _markdown(_LINES[table](tables[table]["table"]))
    (root / "docs" / "ann-bench.md").write_text(text)
