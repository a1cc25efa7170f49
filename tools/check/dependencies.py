"""Every dependency has a line in docs/dependencies.md."""

import re

from tools.check.finding import Finding, Report, Rule
from tools.check.tree import Tree

NAME = "dependencies"
PAGE = "docs/dependencies.md"
_NAMES = {
    "tools/packages.txt": re.compile(r"^([a-z0-9][\w+.-]*)", re.MULTILINE),
    "tools/requirements.txt": re.compile(r"^([A-Za-z0-9][\w.-]*)==", re.MULTILINE),
    "tools/models.txt": re.compile(r"^([A-Za-z0-9][\w.-]*)==", re.MULTILINE),
}
_FIND_PACKAGE = re.compile(r"^[^#\n]*\bfind_(?:package|dependency)\(\s*([\w-]+)", re.MULTILINE)
OWN = {"vectis"}


def _sources(tree: Tree) -> list[tuple[str, re.Pattern[str]]]:
    build_files = [name for name in tree.files
                   if name.endswith(("CMakeLists.txt", ".cmake", ".cmake.in")) and not name.startswith("tests/install/")]
    listed = [(name, pattern) for name, pattern in _NAMES.items() if name in tree.files]
    return listed + [(name, _FIND_PACKAGE) for name in build_files]


def _named(page: str, name: str, whole: bool) -> bool:
    """Matches packages by their full name and CMake names as a substring of one ("hwy" in "libhwy-dev")."""
    if whole:
        return re.search(rf"(?<![\w+-]){re.escape(name)}(?![\w+-])", page, re.IGNORECASE) is not None
    return re.sub(r"[_-]", "", name).lower() in re.sub(r"[_-]", "", page).lower()


def check(tree: Tree) -> Report:
    page = tree.text(PAGE) if PAGE in tree.files else ""
    findings, names = [], set()
    for file, pattern in _sources(tree):
        text = tree.text(file)
        for match in pattern.finditer(text):
            name = match.group(1)
            if name in OWN:
                continue
            names.add(name)
            if not _named(page, name, whole=pattern is not _FIND_PACKAGE):
                line = text.count("\n", 0, match.start(1)) + 1
                findings.append(Finding(file, line, NAME, f"'{name}' is not named in {PAGE}"))
    return Report(findings, f"{len(names)} dependencies")


RULE = Rule(NAME, "every dependency is explained", f"add it to {PAGE}: purpose, alternatives considered, what breaks without it", check)
