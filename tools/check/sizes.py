"""No file over 1,000 lines, few over 400."""

from tools.check.finding import Finding, Report, Rule
from tools.check.tree import Tree

NAME = "sizes"
LIMIT, MANY = 1000, 400


def line_counts(tree: Tree) -> dict[str, int]:
    """Lines by file. Recorded data is no code."""
    return {name: len(tree.text(name).splitlines()) for name in tree.files
            if tree.is_text(name) and not name.endswith(".log")}


def check(tree: Tree) -> Report:
    counts = line_counts(tree)
    findings = [Finding(name, LIMIT + 1, NAME, f"{count} lines, at most {LIMIT} are allowed")
                for name, count in counts.items() if count > LIMIT]
    long = sorted(((count, name) for name, count in counts.items() if count > MANY), reverse=True)
    listed = "".join(f", {name} {count}" for count, name in long)
    return Report(findings, f"{len(counts)} files, {len(long)} over {MANY} lines{listed}")


RULE = Rule(NAME, f"no file over {LIMIT} lines", "split the file by what its parts are for", check)
