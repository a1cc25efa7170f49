"""Generated pages equal the current output of the program that prints them."""

from tools import docs
from tools.check.finding import Finding, Report, Rule
from tools.check.tree import Tree

NAME = "generated"


def check(tree: Tree) -> Report:
    findings = []
    for page in docs.PAGES:
        try:
            line = docs.first_difference(tree.root, page)
        except docs.CannotGenerate as reason:
            findings.append(Finding(page.path, 1, NAME, str(reason)))
            continue
        if line:
            findings.append(Finding(page.path, line, NAME, "differs from what the program prints"))
    return Report(findings, f"{len(docs.PAGES)} pages")


RULE = Rule(NAME, "generated pages are current", "./dev build && ./dev docs", check)
