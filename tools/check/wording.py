"""No absolute path of a developer's machine and no to-do comments."""

import re

from tools.check.finding import Finding, Report, Rule
from tools.check.tree import Tree

NAME = "wording"

# Split literals, so that this file passes its own rule.
_LATER = re.compile(r"\b(?:" + "|".join(("TO" "DO", "FIX" "ME", "X" "XX")) + r")\b")
# One-letter user names are allowed: tests use them in invented paths.
_MACHINE = re.compile(r"(?<![\w.$}*])/(?:home|Users|root|work)/\w{2}")


def check(tree: Tree) -> Report:
    findings, files = [], [name for name in tree.files if tree.is_text(name)]
    for name in files:
        for number, line in enumerate(tree.text(name).splitlines(), 1):
            if match := _LATER.search(line):
                findings.append(Finding(name, number, NAME, f"'{match.group()}': do it now, or document the limitation"))
            if match := _MACHINE.search(line):
                findings.append(Finding(name, number, NAME, f"'{match.group()}...': a machine-specific path"))
    return Report(findings, f"{len(files)} files")


RULE = Rule(NAME, "no machine-specific paths, no to-do comments", "reword the line", check)
