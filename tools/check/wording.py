"""No path of somebody's machine and no note to do something later."""

import re

from tools.check.finding import Finding, Report, Rule
from tools.check.tree import Tree

NAME = "wording"

# Put together from pieces, so that this file passes its own rule.
_LATER = re.compile(r"\b(?:" + "|".join(("TO" "DO", "FIX" "ME", "X" "XX")) + r")\b")
# A user of one letter, as in made-up paths of tests, is nobody's.
_MACHINE = re.compile(r"(?<![\w.$}*])/(?:home|Users|root|work)/\w{2}")


def check(tree: Tree) -> Report:
    findings, files = [], [name for name in tree.files if tree.is_text(name)]
    for name in files:
        for number, line in enumerate(tree.text(name).splitlines(), 1):
            if match := _LATER.search(line):
                findings.append(Finding(name, number, NAME, f"'{match.group()}': do it, or say what is not done and why"))
            if match := _MACHINE.search(line):
                findings.append(Finding(name, number, NAME, f"'{match.group()}...': a path of one machine"))
    return Report(findings, f"{len(files)} files")


RULE = Rule(NAME, "no machine's paths, no notes for later", "reword the line", check)
