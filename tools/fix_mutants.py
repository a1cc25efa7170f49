"""Mutation testing of fixes: `python3 -m tools.fix_mutants [--only TEXT] [--layer NAME]`.

Each mutant (tests/mutants/fixes/) puts back one defect that was fixed, in a copy of the tree that is built as the
preset `release`, and runs the tests of that fix. A mutant counts as caught only when it was planted, compiled, and
a test failed, crashed or hung that passes without it.
"""

import argparse
import os
import re
import signal
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

from tools import mutants
from tools.mutants import DoesNotCompile, Verdict

ROOT = Path(__file__).resolve().parents[1]
LISTS = ROOT / "tests" / "mutants" / "fixes"
ADDRESS_SPACE = 16 << 30  # bytes of a test: some defects take all memory there is


@dataclass(frozen=True)
class Edit:
    file: str
    find: str
    replace: str


@dataclass(frozen=True)
class Mutant:
    name: str
    program: str
    filter: str  # of GoogleTest
    edits: tuple[Edit, ...]
    seconds: int = 60  # after which the tests count as hanging


@dataclass(frozen=True)
class Outcome:
    status: int | None  # None: hung
    output: str

    @property
    def passed(self) -> bool:
        """Whether at least one test ran and none failed."""
        ran = re.search(r"^\[  PASSED  \] (\d+) test", self.output, re.MULTILINE)
        return self.status == 0 and ran is not None and int(ran.group(1)) > 0

    def describe(self) -> str:
        if self.status is None:
            return "hung"
        if self.status < 0:
            return f"killed by signal {-self.status}"
        failed = re.search(r"^\[  FAILED  \] ([^\s,]+)", self.output, re.MULTILINE)
        return f"{failed.group(1)} failed" if failed else f"ended with {self.status}: {self.output[-200:]}"


def layers() -> list[str]:
    """The lists of mutants."""
    return sorted(file.stem for file in LISTS.glob("*.toml"))


def load(only: str = "", layer: str | None = None) -> list[Mutant]:
    listed = [one for name in ([layer] if layer else layers())
              for one in tomllib.loads((LISTS / f"{name}.toml").read_text())["mutant"]]
    return [Mutant(**{**one, "edits": tuple(Edit(**edit) for edit in one["edits"])}) for one in listed
            if only in one["name"] or only == one["program"]]


def planted(mutant: Mutant, root: Path = ROOT) -> dict[str, str]:
    """The files of the mutant, below `root`, with its edits. Raises ValueError for an edit whose text is not there."""
    texts = {edit.file: (root / edit.file).read_text() for edit in mutant.edits}
    for edit in mutant.edits:
        count = texts[edit.file].count(edit.find)
        if count != 1:
            raise ValueError(f"{mutant.name}: {edit.file} has the text of an edit {count} times, not once: {edit.find}")
        texts[edit.file] = texts[edit.file].replace(edit.find, edit.replace)
    return texts


class Tree:
    """A copy of the repository, built as the preset `release`: ccache finds the objects of its libraries."""

    def __init__(self) -> None:
        self.folder = ROOT / "build" / "mutants" / "tree"
        self.build = self.folder / "build" / "release"

    def prepare(self) -> None:
        mutants.copy_repository(self.folder)
        self.build.parent.mkdir(exist_ok=True)
        tools = self.folder / "build" / "venv"  # has wgpu-native
        if not tools.is_symlink():
            tools.symlink_to(ROOT / "build" / "venv")
        subprocess.run(["cmake", "--preset", "release"], cwd=self.folder, check=True, capture_output=True)

    def run(self, mutant: Mutant) -> Outcome:
        """Compiles the program and runs the tests of the mutant. Throws DoesNotCompile."""
        mutants.compile_targets(self.build, [mutant.program])
        # A session of its own: tests start processes, which must not outlive a test that hangs.
        command = ["prlimit", f"--as={ADDRESS_SPACE}", self.build / "bin" / mutant.program,
                   f"--gtest_filter={mutant.filter}"]
        with subprocess.Popen(command, text=True, errors="replace", stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              start_new_session=True) as tests:
            try:
                output, _ = tests.communicate(timeout=mutant.seconds)
            except subprocess.TimeoutExpired:
                os.killpg(tests.pid, signal.SIGKILL)
                return Outcome(None, "")
        return Outcome(tests.returncode, output)

    def plant(self, mutant: Mutant) -> Verdict:
        originals = {edit.file: (self.folder / edit.file).read_text() for edit in mutant.edits}
        try:
            self.write(planted(mutant, self.folder))
            outcome = self.run(mutant)
            return Verdict(outcome.status != 0, "MISSED" if outcome.status == 0 else outcome.describe())
        except DoesNotCompile as reason:
            return Verdict(False, f"does not compile: {reason}")
        finally:
            self.write(originals)

    def write(self, texts: dict[str, str]) -> None:
        for name, text in texts.items():
            (self.folder / name).write_text(text)

    def check_clean(self, chosen: list[Mutant]) -> None:
        """Ends the program if tests fail without a mutant, or none run: what they say of a mutant proves nothing."""
        for mutant in {(mutant.program, mutant.filter): mutant for mutant in chosen}.values():
            outcome = self.run(mutant)
            if not outcome.passed:
                raise SystemExit(f"fix_mutants: {mutant.program} --gtest_filter={mutant.filter} does not pass without "
                                 f"a mutant: {outcome.describe()}")


def run(only: str = "", layer: str | None = None) -> list[Verdict]:
    """Plants the mutants whose name contains `only`, or whose program it is, of one list or of all."""
    chosen = load(only, layer)
    for mutant in chosen:
        planted(mutant)  # before hours of compiling
    tree = Tree()
    tree.prepare()
    tree.check_clean(chosen)
    verdicts = []
    for mutant in chosen:
        verdicts.append(tree.plant(mutant))
        mutants.report(mutant.program, mutant.name, verdicts[-1])
    return verdicts


def main() -> int:
    parser = argparse.ArgumentParser(prog="python3 -m tools.fix_mutants", description=__doc__)
    parser.add_argument("--only", default="", help="part of the names of mutants, or a test program")
    parser.add_argument("--layer", choices=layers(), help="only the mutants of one list")
    arguments = parser.parse_args()
    verdicts = run(arguments.only, arguments.layer)
    caught = sum(verdict.caught for verdict in verdicts)
    print(f"{caught} of {len(verdicts)} reverted fixes caught")
    return 0 if verdicts and caught == len(verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
