"""clang-tidy finds nothing in the sources that changed (uncommitted or in the last commit), or in all with --all.

Tests are left out: they are mostly macros of the test framework.
"""

import json
import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor

from tools.check.finding import Finding, Report, Rule
from tools.check.tree import Tree, is_test

NAME = "tidy"
PROGRAM = "clang-tidy-19"
# Build folders in order of preference. Only `dev` compiles every file alone; the others are unity builds.
BUILDS = ("dev", "asan", "release")

# Compiler warnings are checked by the builds, and fmt's function bodies are not our code.
EXTRA = ("--extra-arg=-w", "--extra-arg=-UFMT_HEADER_ONLY")


def changed_files(tree: Tree) -> set[str]:
    uncommitted = tree.git("status", "--porcelain", "--untracked-files=all", "--no-renames")
    committed = tree.git("diff-tree", "--root", "-r", "--no-commit-id", "--name-only", "HEAD")
    if uncommitted is None:
        return set(tree.code)
    return {line[3:] for line in uncommitted} | set(committed or [])


def _commands(tree: Tree) -> tuple[str, set[str]] | None:
    """The build folder to use and the files it compiles."""
    for name in BUILDS:
        file = tree.root / "build" / name / "compile_commands.json"
        if file.is_file():
            entries = json.loads(file.read_text())
            paths = (os.path.relpath(os.path.join(entry["directory"], entry["file"]), tree.root) for entry in entries)
            return f"build/{name}", set(paths)
    return None


def _tidy(tree: Tree, build: str, name: str) -> list[Finding]:
    done = subprocess.run([PROGRAM, "-p", build, "--quiet", *EXTRA, name], cwd=tree.root, capture_output=True, text=True,
                          check=False)
    findings = []
    for file, line, message in re.findall(r"^(/?[^\s:]+):(\d+):\d+: (?:error|warning): (.*)$", done.stdout, re.MULTILINE):
        findings.append(Finding(os.path.relpath(tree.root / file, tree.root), int(line), NAME, message))
    if done.returncode != 0 and not findings:
        findings.append(Finding(name, 1, NAME, (done.stdout + done.stderr).strip()[:300]))
    return findings


def check(tree: Tree) -> Report:
    commands = _commands(tree)
    sources = [name for name in tree.code if name.endswith((".cpp", ".c")) and not is_test(name)]
    if commands is None:
        return Report([Finding("build", 1, NAME, "no compile commands; run ./dev build")] if sources else [], "")
    build, compiled = commands
    wanted = compiled & set(sources)
    if not tree.all_files:
        wanted &= changed_files(tree)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = pool.map(lambda name: _tidy(tree, build, name), sorted(wanted))
        findings = {finding for found in results for finding in found}
    return Report(sorted(findings), f"{len(wanted)} of {len(sources)} files, commands of {build}")


RULE = Rule(NAME, "clang-tidy finds nothing", "follow the message; .clang-tidy says what is asked", check)
