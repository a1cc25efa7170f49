"""docs/gpu-findings.md: every finding is answered, and every test it names exists."""

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "gpu-findings.md"
FINDINGS = [f"{letter}{number}" for letter, count in (("H", 15), ("K", 10), ("T", 3)) for number in range(1, count + 1)]
TEST = re.compile(r"^\s*(?:TEST|TEST_F|TEST_P)\(\s*(\w+),\s*(\w+)\)", re.MULTILINE)
NAMED = re.compile(r"`([A-Z]\w+\.[A-Z]\w+|test_\w+)`")


@cache
def existing() -> frozenset[str]:
    names = set()
    for folder in ("src", "tests", "backends"):
        for file in (ROOT / folder).rglob("*_test.cpp"):
            names |= {f"{suite}.{name}" for suite, name in TEST.findall(file.read_text())}
    for file in (ROOT / "tests").rglob("test_*.py"):
        names |= set(re.findall(r"^def (test_\w+)", file.read_text(), re.MULTILINE))
    return frozenset(names)


def rows(text: str) -> dict[str, list[str]]:
    """The cells of each finding's row, by its number."""
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in text.splitlines()
             if re.match(r"\| [HKT]\d+ \|", line)]
    return {row[0]: row for row in cells}


def unknown_tests(text: str) -> set[str]:
    return set(NAMED.findall(text)) - existing()


def test_every_finding_has_a_row_that_shows_something():
    found = rows(PAGE.read_text())
    assert list(found) == FINDINGS
    for number, cells in found.items():
        assert len(cells) == 4 and all(cells), number
        assert NAMED.search(cells[3]) or "gpu-evidence.md#" in cells[3], f"{number} is shown by nothing"


def test_every_named_test_exists():
    text = PAGE.read_text()
    assert len(set(NAMED.findall(text))) >= 60
    assert unknown_tests(text) == set()


@pytest.mark.parametrize("name", ["SelectionTest.ATestThatNobodyWrote", "test_that_nobody_wrote"])
def test_a_test_that_does_not_exist_is_noticed(name):
    assert unknown_tests(f"| H1 | a | b | `{name}` |") == {name}


def test_links_lead_to_sections():
    for page, section in re.findall(r"\]\(([\w-]+\.md)#([\w-]+)\)", PAGE.read_text()):
        headings = re.findall(r"^#+ (.+)$", (ROOT / "docs" / page).read_text(), re.MULTILINE)
        assert section in [re.sub(r"[^\w -]", "", one.lower()).replace(" ", "-") for one in headings], (page, section)
