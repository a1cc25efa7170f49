"""Names and prose use the field's words: no private term where the literature has a standard one.

docs/glossary.md defines the terms in use. A new private word that has a standard one is added to the table here.
"""

import re

from tools.check.finding import Finding, Report, Rule
from tools.check.tree import Tree

NAME = "terms"

# Pattern (case-sensitive, whole words) and the standard term.
TERMS = {
    r"[Ww]alk(?:s|ed|er|ers|ing|_\w+)?|Walker|\w+_walks?": "beam search, traverse; SearchScratch",
    r"Look(?=[ &]*[({&])|DeviceLook|look_among|look_at_all|\w+_look": "SearchParams, search, brute_force_scan, DeviceGraphSearcher",
    r"slack|Slack|\w+_slacks?|slack_\w+": "epsilon",
    r"Effort|effort": "BeamParams",
    r"Patience|Hope|Endless|GoingOn": "FilterBudget, early termination",
    r"doubt|doubt_for|Doubt": "error margin",
    r"far_error": "relative RMS quantization error",
    r"build_width": "ef_construction",
    r"Heads|born|dies": "row versions: created_at, deleted_at",
    r"bury|buried": "abort_insert",
    r"heirs?|relink_around": "replacement candidates, consolidate_deletes",
    r"Corpus": "SegmentStore, GraphStore",
    r"Draft": "WriteBatch, LoweredProgram",
    r"leading_directions": "PCA basis",
    r"place_quer(?:y|ies)|set_placed|placed_together|place_query_among_rows": "project_query",
    r"CodedQuery|RowTerms|CodeRun": "QuantizedQuery, scale and min, code block",
    r"choose_codes|choose_frame": "train, choose code size",
    r"Met|MetLately|Marks": "VisitedSet, visited filter, visited bitmap",
    r"Way|host_ways|choose_way": "kernel variant",
    r"ScanPiece": "row range",
    r"Survivors|survivors?|offer_\w+": "candidates, push",
    r"settle[sd]?|recode[sd]?": "recompute bounds, requantize",
    r"fingerprints?|Fingerprint": "checksum, hash",
    r"damaged|Damaged|expect_damage": "corrupt",
    r"refuse_\w+": "validate_*",
    r"told|[Tt]ells?": "log, report",
    r"this processor": "host, CPU",
    r"Rung|rung|rungs|ladder": "reclaim step, reclaim order",
    r"BufferKind": "size class",
    r"KeptFolder": "DiskCache",
    r"carried (?:kernels?|modules?)|carried_(?:kernels?|modules?|texts?)|\w+_carried": "prebuilt, embedded",  # loop-carried is standard
    r"Few": "InlinedVector",
    r"Desk": "TestContext",
    r"Ailment|ailments?": "BackendProblem",
    r"Trap": "ErrorScope",
    r"[Mm]end(?:s|ed|ing)?": "fix",
    r"\w+_(?:least|most)|(?:least|most)_\w+": "min, max",
    r"whole numbers?": "integer",
    r"numbers that are not finite": "non-finite values",
}
# British spellings and the American ones.
SPELLINGS = {
    r"(?:un)?[Oo]ptimis(?:e[ds]?|ing|ation|ations|er)|[Nn]eighbours?|[Cc]olours?|[Cc]entre[sd]?|[Qq]uantis\w+|[Nn]ormalis\w+"
    r"|[Bb]ehaviours?|[Ss]erialis\w+|[Ii]nitialis\w+|[Oo]rganis\w+|[Rr]ecognis\w+|[Ll]icence|[Ss]ynchronis\w+"
    r"|[Mm]odell(?:ed|ing)|[Ll]abell(?:ed|ing)|[Aa]nalyse[sd]?": "American spelling",
}
# Files that quote old words: the table of renames, recorded evidence, and this list.
EXEMPT = ("CHANGELOG.md", "docs/evidence/", "tools/check/terms.py", "bench/memory-logs/", "tests/tools/test_check.py")

_PATTERNS = [(re.compile(rf"(?<![\w/.])(?:{pattern})(?!\w)"), word) for pattern, word in (TERMS | SPELLINGS).items()]
# Skips lines without findings, which are almost all of them, with one search.
_ANY = re.compile(rf"(?<![\w/.])(?:{'|'.join(TERMS | SPELLINGS)})(?!\w)")


def check(tree: Tree) -> Report:
    findings = []
    files = [name for name in tree.files if not name.startswith(EXEMPT) and not name.endswith(".svg") and tree.is_text(name)]
    for name in files:
        for number, line in enumerate(tree.text(name).splitlines(), 1):
            if not _ANY.search(line):
                continue
            for pattern, word in _PATTERNS:
                if match := pattern.search(line):
                    findings.append(Finding(name, number, NAME, f"'{match.group()}': {word}"))
    return Report(findings, f"{len(files)} files")


RULE = Rule(NAME, "the field's words", "use the word named; docs/glossary.md defines them", check)
