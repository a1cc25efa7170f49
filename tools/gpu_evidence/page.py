"""Writes docs/gpu-evidence.md."""

from tools.dialects.kernels import MFMA
from tools.dialects.nvrtc import OLD_ARCHITECTURES
from tools.gpu_evidence import amd, roofline
from tools.gpu_evidence.collect import COMPILED, READ, REASONS, Evidence, Row
from tools.gpu_evidence.hot import FAMILIES

HEAD = """# Evidence from machine code

Written by `python3 -m tools.gpu_evidence`; do not edit. No GPU has run this code. The hot kernels are compiled for
several GPUs and their machine code is analyzed. It shows registers, spills, load widths and instruction counts; it shows
no times. NVRTC {nvidia} compiles for NVIDIA (NVRTC 12.9 for {old}), hipcc and clang for AMD. Occupancy is computed from registers,
shared memory and the block size. A cell with several values has one for each architecture in the heading, in that
order.
"""

MODEL = """## Roofline *model*, not a measurement

An exact search of 1,000,000 vectors of 128 elements that are on the card, without stalls. *Model*: the maximum of the time
to read the rows once for each batch, to issue all instructions counted above, and to execute all multiply-adds, which is
the *wall*, and what the host asks for: 8 launches of {launch:g} us, 3 copies of {copy:g} us and a wait of {wait:g} us for
each batch of {batch:,} queries, of which all but the first batch's copies and the last one's wait overlap. *Hardware* is the
maximum of reading the rows once and the maker's peak rate for the type, matrix units included. *Share*: hardware over model.
One query uses the narrow tile of 64 x 4, more the tile of 128 x 128, both whole; rows of f16 are scanned by queries of f32,
int8 on NVIDIA's cards and AMD's with matrix units. The instructions of cards that are not NVIDIA's were not counted:
those of sm_90 stand for them. `vectis report` predicts the same times. Milliseconds for 1, 100 and 10,000 queries.
"""


def _joined(values: list[object]) -> str:
    """One value where all are equal."""
    words = [str(value) for value in values]
    return words[0] if len(set(words)) == 1 else " / ".join(words)


def _table(heading: list[str], rows: list[list[str]]) -> list[str]:
    return ["| " + " | ".join(heading) + " |", "|" + "---|" * len(heading),
            *("| " + " | ".join(row) + " |" for row in rows)]


def _widths(row: Row) -> str:
    return ", ".join(f"{count} x {bits}" for bits, count in row.loads.items())


def _spills(rows: list[Row]) -> str:
    return _joined([row.spilled + row.counts.get("LDL", 0) + row.counts.get("STL", 0) for row in rows])


def nvidia_line(rows: list[Row]) -> list[str]:
    """One kernel on all analyzed architectures."""
    costs = [row.cost for row in rows]
    distance = _joined([f"{cost.instructions:.0f}" for cost in costs]) if costs[0] else ""
    rest = _joined([f"{cost.rest:.1f}" for cost in costs]) if costs[0] else ""
    return [rows[0].label, _joined([row.registers for row in rows]), _joined([row.shared for row in rows]),
            _spills(rows), _joined([f"{row.occupancy:.0%}" for row in rows]),
            _joined([row.counts[""] for row in rows]), _joined([row.counts["FFMA"] for row in rows]),
            _joined([row.counts["IDP"] for row in rows]), _joined([row.counts["IMMA"] for row in rows]), _joined([_widths(row) for row in rows]), distance, rest]


def _nvidia(evidence: Evidence) -> list[str]:
    lines = [f"## NVIDIA: {' / '.join(READ)}", "",
             "*Spills*: bytes, and LDL and STL instructions. *Per distance*: instructions a lane issues for one distance "
             "of vectors of 128 elements; *epilogue*: those after the sum (bound, comparison, store). *Loads*: LDG by "
             "width in bits.", ""]
    by_label = [evidence.of(architecture) for architecture in READ]
    heading = ["kernel", "registers", "shared bytes", "spills", "occupancy", "instructions", "FFMA", "dp4a (IDP)", "mma (IMMA)",
               "loads", "per distance", "epilogue"]
    for family in FAMILIES:
        labels = [one.label for one in evidence.kernels if one.family == family]
        rows = [nvidia_line([rows[label] for rows in by_label]) for label in labels]
        lines += [f"### {family.capitalize()}", "", *_table(heading, rows), ""]
    return lines


def _old(evidence: Evidence) -> list[str]:
    lines = []
    for architecture in COMPILED:
        rows = evidence.of(architecture).values()
        lines += [f"For {architecture} the same {len(rows)} kernels are compiled: at most "
                  f"{max(row.registers for row in rows)} registers, "
                  f"{sum(row in evidence.spilling() for row in rows)} of them spill.", ""]
    for architecture in OLD_ARCHITECTURES:
        rows = evidence.of(architecture).values()
        lines += [f"For {architecture} (V100) the {len(rows)} kernels it runs are compiled by NVRTC 12.9: at most "
                  f"{max(row.registers for row in rows)} registers, "
                  f"{sum(row in evidence.spilling() for row in rows)} of them spill (see above).", ""]
    return lines


def _amd_table(evidence: Evidence, names: tuple[str, ...], labels: list[str]) -> list[str]:
    by_label = [evidence.of(architecture) for architecture in names]
    rows = []
    for label in labels:
        one = [found[label] for found in by_label]
        rows.append([label, _joined([row.registers for row in one]), _joined([row.shared for row in one]),
                     _joined([row.spilled for row in one]), _joined([row.local for row in one]),
                     _joined([f"{row.occupancy:.0%}" for row in one])])
    return [*_table(["kernel", "VGPRs", "LDS bytes", "spilled registers", "scratch bytes", "occupancy"], rows), ""]


def _amd(evidence: Evidence) -> list[str]:
    names = amd.ARCHITECTURES
    with_units = tuple(name for name in names if name in MFMA)
    everywhere = list(evidence.of(next(name for name in names if name not in MFMA)))
    by_units = [label for label in evidence.of(with_units[0]) if label not in everywhere]
    return [f"## AMD: {' / '.join(names)}", "", "From the notes of the code objects. Debian's hipcc (clang 15) compiles for gfx90a and gfx1030, clang 19 for the "
            "others, which hipcc does not know.", "", *_amd_table(evidence, names, everywhere),
            f"### Matrix units: {' / '.join(with_units)}", "", *_amd_table(evidence, with_units, by_units)]


def scan_of(evidence: Evidence, card: roofline.Card, element: str, queries: int) -> roofline.Scan:
    """The kernel that searches so many queries on a card."""
    rows, at_once = (64, 4) if queries == 1 else (128, 128)
    mma = element == "i8" and queries > 1 and card.mma
    label = f"scan_bounds {roofline.SCANNED[element]}, {rows} x {at_once}{', mma' if mma else ''}"
    cost = evidence.of(card.architecture)[label].cost
    return roofline.Scan(label, cost.instructions, cost.steps, rows, at_once, mma)


def shares(evidence: Evidence) -> dict[tuple[str, str], list[roofline.Estimate]]:
    """The estimates for each card and element, one for each batch."""
    return {(card.name, element): [roofline.estimate(card, element, queries, scan_of(evidence, card, element, queries))
                                   for queries in roofline.BATCHES]
            for card in roofline.CARDS for element in roofline.BYTES}


def _model(evidence: Evidence) -> list[str]:
    rows = []
    for (card, element), made in shares(evidence).items():
        rows.append([card, element, " / ".join(f"{one.milliseconds:.3g}" for one in made),
                     " / ".join(one.wall for one in made), " / ".join(f"{one.limit:.3g}" for one in made),
                     " / ".join(f"{one.share:.0%}" for one in made)])
    heading = ["card", "scanned", "this code, *model*", "wall", "hardware", "share"]
    text = MODEL.format(launch=roofline.LAUNCH, copy=roofline.COPY, wait=roofline.WAIT, batch=roofline.BATCH)
    return [*text.splitlines(), "", *_table(heading, rows), ""]


def _findings(evidence: Evidence) -> list[str]:
    lines = [f"{len(evidence.kernels)} kernels, {len(evidence.rows)} compilations, {len(evidence.unexplained())} with "
             "spills that have no reason."]
    lines += [f"- {row.label} for {row.architecture}, {row.spilled} bytes: {REASONS.get(row.architecture, 'fix it')}."
              for row in evidence.spilling()]
    return [*lines, "", f"Checksum of the kernel texts: {evidence.checksum}", ""]


def write(evidence: Evidence) -> str:
    head = HEAD.format(nvidia="13", old=", ".join(OLD_ARCHITECTURES))
    lines = [*head.splitlines(), "", *_findings(evidence), *_nvidia(evidence), *_old(evidence), *_amd(evidence),
             *_model(evidence)]
    return "\n".join(lines).rstrip() + "\n"
