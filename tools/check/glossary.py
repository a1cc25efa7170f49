"""docs/glossary.md is a sorted table, and every file it names exists."""

import re

from tools.check.finding import Finding, Report, Rule
from tools.check.tree import Tree

NAME = "glossary"
PAGE = "docs/glossary.md"
_CELLS = 4  # term, meaning, source, file
_PATH = re.compile(r"`([^`]+)`")


def check(tree: Tree) -> Report:
    if PAGE not in tree.files:
        return Report([])
    known = set(tree.files)
    findings, terms = [], []
    for number, line in enumerate(tree.text(PAGE).splitlines(), 1):
        if not line.startswith("|") or line.startswith(("| term |", "|---")):
            continue
        cells = [cell.strip() for cell in line.strip().strip("|").split(" | ")]
        if len(cells) != _CELLS:
            findings.append(Finding(PAGE, number, NAME, f"{len(cells)} cells, expected {_CELLS}"))
            continue
        term = cells[0].lower()
        if terms and term <= terms[-1]:
            findings.append(Finding(PAGE, number, NAME, f"'{term}' stands after '{terms[-1]}'; sort the terms"))
        terms.append(term)
        paths = _PATH.findall(cells[-1])
        if not paths:
            findings.append(Finding(PAGE, number, NAME, f"'{term}' names no file"))
        for path in paths:
            if path not in known and not any(name.startswith(path.rstrip("/") + "/") for name in known):
                findings.append(Finding(PAGE, number, NAME, f"{path} does not exist"))
    return Report(findings, f"{len(terms)} terms")


RULE = Rule(NAME, "files that the glossary names exist", "correct the path or the order in docs/glossary.md", check)
