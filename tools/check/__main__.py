"""`./dev check [--all] [rule...]`: findings as `file:line: rule: message`, then a line for each rule."""

import sys
import time
from pathlib import Path

from tools.check.finding import Rule
from tools.check.rules import RULES
from tools.check.tree import Tree


def run(rule: Rule, tree: Tree) -> tuple[bool, str]:
    """Prints the findings; returns whether there were none, and the closing line."""
    start = time.monotonic()
    report = rule.run(tree)
    for finding in sorted(report.findings):
        print(finding, flush=True)
    count = len(report.findings)
    verdict = "ok" if count == 0 else f"{count} finding{'s' if count > 1 else ''}"
    summary = f" ({report.summary})" if report.summary else ""
    line = f"check {rule.name:12} {verdict:12} {time.monotonic() - start:5.1f} s  {rule.promise}{summary}"
    return count == 0, line if count == 0 else f"{line}\n      to fix: {rule.fix}"


def main(arguments: list[str]) -> int:
    names = [argument for argument in arguments if argument != "--all"]
    unknown = set(names) - {rule.name for rule in RULES}
    if unknown:
        print(f"check: no rule {', '.join(sorted(unknown))}; there are: {' '.join(rule.name for rule in RULES)}",
              file=sys.stderr)
        return 2
    tree = Tree(Path.cwd(), all_files="--all" in arguments)
    results = [run(rule, tree) for rule in RULES if not names or rule.name in names]
    print(*(line for _, line in results), sep="\n")
    return 0 if all(passed for passed, _ in results) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
