"""The list of reverted fixes fits the sources, and only a test that ran and passed counts as passed."""

import pytest

from tools import fix_mutants, mutants
from tools.fix_mutants import Edit, Mutant, Outcome, Tree

PASSED = "[==========] 2 tests ran.\n[  PASSED  ] 2 tests.\n"


@pytest.mark.parametrize("mutant", fix_mutants.load(), ids=lambda mutant: mutant.name)
def test_every_mutant_can_be_planted(mutant):
    texts = fix_mutants.planted(mutant)
    assert all(text != (fix_mutants.ROOT / name).read_text() for name, text in texts.items())


def test_names_are_unique():
    names = [mutant.name for mutant in fix_mutants.load()]
    assert len(names) == len(set(names))


def test_text_that_is_missing_or_repeated_is_rejected(tmp_path):
    (tmp_path / "a.cpp").write_text("x = 1;\ny = 1;\n")
    for find in ("= 1;", "z"):
        with pytest.raises(ValueError, match="a.cpp has the text"):
            fix_mutants.planted(Mutant("m", "p", "*", (Edit("a.cpp", find, ""),)), tmp_path)
    both = (Edit("a.cpp", "x = 1", "x = 2"), Edit("a.cpp", "y = 1", "y = 2"))
    assert fix_mutants.planted(Mutant("m", "p", "*", both), tmp_path) == {"a.cpp": "x = 2;\ny = 2;\n"}


def test_only_tests_that_ran_count_as_passed():
    assert Outcome(0, PASSED).passed
    assert not Outcome(0, "[  PASSED  ] 0 tests.\n").passed
    assert not Outcome(1, PASSED).passed
    assert not Outcome(None, "").passed


def test_outcomes_are_described():
    assert Outcome(None, "").describe() == "hung"
    assert Outcome(-11, "").describe() == "killed by signal 11"
    assert Outcome(1, "[  FAILED  ] A.B (3 ms)\n[  FAILED  ] A.B\n").describe() == "A.B failed"


# A test program whose tests pass as long as a.cpp has no defect.
PROGRAM = f"""#!/bin/sh
case "$(cat {{source}})" in
  *hangs*) sleep 60 ;;
  *wrong*) echo '[  FAILED  ] A.B'; exit 1 ;;
esac
printf '{PASSED}'
"""


@pytest.fixture(name="tree")
def planted_tree(tmp_path, monkeypatch):
    tree = Tree()
    tree.folder, tree.build = tmp_path, tmp_path / "build"
    (tmp_path / "a.cpp").write_text("right\n")
    program = tree.build / "bin" / "a_test"
    program.parent.mkdir(parents=True)
    program.write_text(PROGRAM.format(source=tmp_path / "a.cpp"))
    program.chmod(0o755)
    monkeypatch.setattr(mutants, "compile_targets", lambda build, targets: None)
    return tree


@pytest.mark.parametrize("replaced, caught, how", [("wrong", True, "A.B failed"), ("hangs", True, "hung"),
                                                   ("fine", False, "MISSED")])
def test_mutants_are_planted_judged_and_removed(tree, replaced, caught, how):
    verdict = tree.plant(Mutant("m", "a_test", "A.*", (Edit("a.cpp", "right", replaced),), seconds=1))
    assert (verdict.caught, verdict.how) == (caught, how)
    assert (tree.folder / "a.cpp").read_text() == "right\n"


def test_mutants_that_do_not_compile_are_not_caught(tree, monkeypatch):
    def fail(build, targets):
        raise mutants.DoesNotCompile("expected ';'")

    monkeypatch.setattr(mutants, "compile_targets", fail)
    verdict = tree.plant(Mutant("m", "a_test", "A.*", (Edit("a.cpp", "right", "wrong"),)))
    assert not verdict.caught and "expected ';'" in verdict.how
    assert (tree.folder / "a.cpp").read_text() == "right\n"


def test_tests_that_fail_without_a_mutant_prove_nothing(tree):
    mutant = Mutant("m", "a_test", "A.*", (Edit("a.cpp", "right", "wrong"),))
    tree.check_clean([mutant])
    (tree.folder / "a.cpp").write_text("wrong\n")
    with pytest.raises(SystemExit, match="does not pass without a mutant: A.B failed"):
        tree.check_clean([mutant])
