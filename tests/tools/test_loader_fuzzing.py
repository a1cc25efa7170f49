"""Every format has a fuzz target, and the count of a target's executions survives the end of a soak."""

import re
from pathlib import Path

import pytest

from tools import loader_fuzzing, suite
from tools.evidence import Unfinished
from tools.loader_fuzzing import READERS, fuzz

ROOT = Path(__file__).resolve().parents[2]
TARGETS = set(re.findall(r"^ *vectis_fuzz\((\w+)", (ROOT / "tests/fuzz/CMakeLists.txt").read_text(), re.MULTILINE))
PROGRAM = """#!/bin/sh
case "$1" in
  -runs=*) ;;
  *) exit "$(cat "{folder}/status")" ;;
esac
test "$(cat "{folder}/status")" = 0 || touch "{folder}/soak/parse_ir-crash-1"
echo "stat::number_of_executed_units: 400" >&2
exit "$(cat "{folder}/status")"
"""


@pytest.mark.parametrize("page", sorted((ROOT / "docs/formats").glob("*.md")), ids=lambda page: page.stem)
def test_format_names_the_fuzz_target_of_its_reader(page):
    named = set(re.findall(r"`tests/fuzz/(\w+)_fuzz\.cpp`", page.read_text()))
    assert named and named <= TARGETS


def test_readers_of_all_targets_exist():
    assert set(READERS) == TARGETS
    assert [path for paths in READERS.values() for path in paths if not (ROOT / path).is_file()] == []


@pytest.fixture
def target(tmp_path, monkeypatch):
    """The fuzz target parse_ir, replaced by a program that executes 400 inputs and fails if `status` says so."""
    program = tmp_path / "build" / "asan" / "bin" / "parse_ir_fuzz"
    program.parent.mkdir(parents=True)
    program.write_text(PROGRAM.format(folder=tmp_path))
    program.chmod(0o755)
    (tmp_path / "status").write_text("0")
    monkeypatch.setattr(loader_fuzzing, "ROOT", tmp_path)
    monkeypatch.setattr(loader_fuzzing, "SOAK", tmp_path / "soak")
    monkeypatch.setattr(loader_fuzzing, "reader_commit", lambda target: "abc")
    monkeypatch.setattr(suite, "build", lambda *arguments: None)
    return tmp_path


def test_executions_add_up_until_the_reader_changes(target, monkeypatch):
    with pytest.raises(Unfinished) as unfinished:
        fuzz("parse_ir", 800)
    assert [figure.value for figure in unfinished.value.figures] == [400, 0]
    figures = fuzz("parse_ir", 800)
    assert [figure.value for figure in figures] == [800, 0]
    assert all("commit abc" in figure.name for figure in figures)
    monkeypatch.setattr(loader_fuzzing, "reader_commit", lambda target: "def")
    with pytest.raises(Unfinished):
        fuzz("parse_ir", 800)


def test_finding_stays_until_the_reader_accepts_it(target):
    (target / "status").write_text("77")
    for _ in range(2):
        with pytest.raises(Unfinished) as unfinished:
            fuzz("parse_ir", 400)
        assert unfinished.value.figures[1].value == 1
    (target / "status").write_text("0")
    assert [figure.value for figure in fuzz("parse_ir", 400)] == [400, 0]
    assert (target / "soak" / "parse_ir" / "parse_ir-crash-1").is_file()
