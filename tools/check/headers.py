"""Each public header compiles alone with both compilers; the backend contract also compiles as C11."""

import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor

from tools.check.finding import Finding, Report, Rule
from tools.check.tree import Tree

NAME = "headers"
COMPILERS = {"c++": ("g++-12", "clang++-19"), "c": ("gcc-12", "clang-19")}
FLAGS = ["-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Wsign-conversion", "-Werror"]
STANDARD = {"c++": "-std=c++20", "c": "-std=c11"}


def _jobs(tree: Tree) -> list[tuple[str, str, str]]:
    jobs = []
    for header in (name for name in tree.code if name.startswith("include/")):
        languages = ("c++", "c") if header.endswith(".h") else ("c++",)
        jobs += [(header, language, compiler) for language in languages for compiler in COMPILERS[language]]
    return jobs


def _compile(tree: Tree, header: str, language: str, compiler: str) -> Finding | None:
    command = [compiler, "-x", language, STANDARD[language], *FLAGS, "-I", "include", "-"]
    source = f'#include "{header.removeprefix("include/")}"\n'
    done = subprocess.run(command, input=source, cwd=tree.root, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return None
    return _first_error(header, compiler, done.stderr)


def _first_error(header: str, compiler: str, output: str) -> Finding:
    match = re.search(r"^([^\s:]+):(\d+)(?::\d+)?: (?:fatal )?error: (.*)$", output, re.MULTILINE)
    if not match:
        return Finding(header, 1, NAME, f"{compiler}: {output.strip()[:200]}")
    file, line, message = match.groups()
    message = f"does not compile alone with {compiler}: {message}"
    if file.startswith("include/"):
        return Finding(file, int(line), NAME, message)
    return Finding(header, 1, NAME, f"{message} (at {file}:{line})")


def check(tree: Tree) -> Report:
    jobs = _jobs(tree)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = set(pool.map(lambda job: _compile(tree, *job), jobs)) - {None}
    return Report(sorted(results), f"{len(jobs)} compilations")


RULE = Rule(NAME, "each public header compiles alone", "add the missing #include to the header", check)
