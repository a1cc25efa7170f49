"""All code is formatted by clang-format. `python3 -m tools.check.format --fix` rewrites the files."""

import re
import subprocess
import sys
from pathlib import Path

from tools.check.finding import Finding, Report, Rule
from tools.check.tree import Tree

NAME = "format"
PROGRAM = "clang-format-19"


def check(tree: Tree) -> Report:
    findings: dict[str, Finding] = {}
    if tree.code:
        done = subprocess.run([PROGRAM, "--dry-run", "-Werror", *tree.code], cwd=tree.root, capture_output=True,
                              text=True, check=False)
        for file, line in re.findall(r"^(.+?):(\d+):\d+: error: ", done.stderr, re.MULTILINE):
            findings.setdefault(file, Finding(file, int(line), NAME, f"differs from the output of {PROGRAM}, here and possibly below"))
        if done.returncode != 0 and not findings:
            findings[""] = Finding(".clang-format", 1, NAME, done.stderr.strip()[:300])
    return Report(list(findings.values()), f"{len(tree.code)} files")


def fix(tree: Tree) -> None:
    before = {name: (tree.root / name).read_bytes() for name in tree.code}
    if before:
        subprocess.run([PROGRAM, "-i", *before], cwd=tree.root, check=True)
    changed = [name for name, text in before.items() if (tree.root / name).read_bytes() != text]
    print(f"fix: formatted {len(changed)} of {len(before)} files", *changed, sep="\n  ")


RULE = Rule(NAME, "code is formatted", "./dev fix", check)

if __name__ == "__main__":
    if sys.argv[1:] != ["--fix"]:
        sys.exit("usage: python3 -m tools.check.format --fix")
    fix(Tree(Path.cwd()))
