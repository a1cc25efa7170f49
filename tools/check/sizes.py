"""No source file over 600 lines, nothing over 1,000."""

from tools.check.finding import Finding, Report, Rule
from tools.check.tree import CODE_SUFFIXES, Tree

NAME = "sizes"
CODE_LIMIT, LIMIT, MANY = 600, 1000, 400


def line_counts(tree: Tree) -> dict[str, int]:
    """Lines by file, without recorded data."""
    return {name: len(tree.text(name).splitlines()) for name in tree.files
            if tree.is_text(name) and not name.endswith(".log")}


def check(tree: Tree) -> Report:
    counts = line_counts(tree)
    limits = {name: CODE_LIMIT if name.endswith(CODE_SUFFIXES) else LIMIT for name in counts}
    findings = [Finding(name, limits[name] + 1, NAME, f"{count} lines, at most {limits[name]} are allowed")
                for name, count in counts.items() if count > limits[name]]
    long = sorted(((count, name) for name, count in counts.items() if count > MANY), reverse=True)
    listed = "".join(f", {name} {count}" for count, name in long)
    return Report(findings, f"{len(counts)} files, {len(long)} over {MANY} lines{listed}")


RULE = Rule(NAME, f"no source file over {CODE_LIMIT} lines", "split the file by concept", check)
