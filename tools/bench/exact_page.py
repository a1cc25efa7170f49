"""docs/performance.md, its plot, and the table for the terminal, from the results of `./dev bench exact`."""

from pathlib import Path

PICTURE = "performance-exact.svg"
_HEAD = """# How fast exact search is

Written by `./dev bench exact --page`, measured on {date} (commit `{commit}`): {processor}, {cores} cores, k = 10.

- Vectis and the peers run interleaved with equal thread counts. Each peer is configured for speed: OpenBLAS with the
  right core type, FAISS with its default BLAS threshold and with 20.
- Times are medians over rounds. A peer more than three times slower than the best is measured once.
- The interval after a ratio of two speeds is the 95 % bootstrap interval of the median ratio.
- Recall is measured against brute force in double precision. The result of Vectis must equal that of brute force, id for
  id.
- Percentages in the column *limit* are relative to the peak measured on the same machine in the same minute.

![Queries per second of Vectis and its peers]({picture})

"""


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _ratio(report: dict) -> str:
    def one(rival: str, ratio: dict) -> str:
        name = report["best_peer"] if rival == "best peer" else rival
        return f"{ratio['median']:.3g} × {name} ({ratio['low']:.3g} to {ratio['high']:.3g})"
    return "; ".join(one(rival, ratio) for rival, ratio in report["ratios"].items())


def _found(one: dict, ours: bool) -> str:
    if "recall" not in one:
        return ""
    if ours:
        return f"{one['differences']} differences" if one["differences"] else "equal"
    return f"{one['recall']:.4f}"


def _limit(report: dict) -> str:
    stick = report.get("yardstick")
    return f"{stick['percent']:.0f} % of {stick['name']} ({_number(stick['limit'])} {stick['unit']})" if stick else ""


def _aim(report: dict) -> str:
    def measured(name: str) -> float:
        return report["ratios"][name]["median"] if name in report["ratios"] else report["yardstick"]["percent"]
    return "; ".join(f"≥ {aim:g} {'%' if name == report.get('yardstick', {}).get('name') else '×'} {name}: "
                     f"{'met' if measured(name) >= aim else 'not met'}" for name, aim in report["aims"].items())


def lines(reports: list[dict]) -> list[list[str]]:
    made = [["workload", "library", "ms", "per second", "recall", "ratio", "limit", "aim"]]
    for report in reports:
        for place, (name, one) in enumerate(report["contestants"].items()):
            ours = place == 0
            made.append([report["title"] if ours else "", name + ("" if one["rounds"] > 1 else " (once)"),
                         _number(one["ms"]), _number(one["per_second"]), _found(one, ours),
                         *((_ratio(report), _limit(report), _aim(report)) if ours else ("", "", ""))])
    return made


def table(reports: list[dict]) -> str:
    made = lines(reports)
    widths = [max(len(line[column]) for line in made) for column in range(len(made[0]))]
    return "\n".join("  ".join(word.ljust(width) for word, width in zip(line, widths, strict=True)).rstrip()
                     for line in made)


def _markdown(reports: list[dict]) -> str:
    head, *rest = lines(reports)
    text = "| " + " | ".join(head) + " |\n" + "|---" * len(head) + "|\n"
    return text + "".join("| " + " | ".join(line) + " |\n" for line in rest)


def _circumstances(report: dict) -> str:
    """Rounds and system load. Interleaved single-threaded contestants cause a load of 1."""
    return f"{report['rounds']} rounds, load {report['load']:.1f}"


def _details(reports: list[dict]) -> str:
    text = "\nThe list shows which scan kernel Vectis ran, and how many vectors it reranked per query:\n\n"
    for report in reports:
        mine = report["contestants"]["vectis"]
        if "kernel" in mine:
            text += (f"- {report['title']}: {mine['kernel']}, {mine['bytes_per_vector']} bytes read per vector, "
                     f"{mine['reranked_per_query']:.0f} reranked per query; {_circumstances(report)}\n")
        else:
            first = report["first_search"]
            text += (f"- {report['title']}: the first query after adding takes {first['ratio']['median']:.2f} times as "
                     f"long as later ones, {first['percent_of_add']['median']:.1f} % of the time to add; "
                     f"{_circumstances(report)}\n")
    return text


def _draw(target: Path, reports: list[dict]) -> None:
    import matplotlib
    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": "vectis", "font.size": 8, "svg.fonttype": "none"})
    from matplotlib import pyplot
    shown = [report for report in reports if report["batch"]]
    bars = [len(report["contestants"]) for report in shown]
    figure, axes = pyplot.subplots(len(shown), 1, figsize=(7, sum(bars) * 0.22 + len(shown) * 0.55), squeeze=False,
                                   gridspec_kw={"height_ratios": [count + 1 for count in bars]})
    for axis, report in zip(axes[:, 0], shown, strict=True):
        ordered = sorted(report["contestants"].items(), key=lambda item: item[1]["per_second"])
        values = [one["per_second"] for _, one in ordered]
        colors = ["#1b6ca8" if name == "vectis" else "#b9b9b9" for name, _ in ordered]
        drawn = axis.barh([name for name, _ in ordered], values, color=colors)
        axis.bar_label(drawn, [_number(value) for value in values], padding=3)
        axis.set_xlim(0, max(values) * 1.12)
        axis.set_title(f"{report['title']}: queries per second", loc="left", fontsize=8, fontweight="bold")
        axis.spines[["top", "right"]].set_visible(False)
        axis.set_xticks([])
    figure.tight_layout()
    figure.savefig(target, metadata={"Date": None})


def processor_name() -> tuple[str, int]:
    names = [line.split(":", 1)[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
             if line.startswith("model name")]
    return names[0], len(names)


def write(root: Path, reports: list[dict]) -> None:
    processor, cores = processor_name()
    newest = max(reports, key=lambda report: report["date"])
    head = _HEAD.format(date=newest["date"][:10], commit=newest["commit"][:12], processor=processor, cores=cores,
                        picture=PICTURE)
    (root / "docs" / "performance.md").write_text(head + _markdown(reports) + _details(reports))
    _draw(root / "docs" / PICTURE, reports)
