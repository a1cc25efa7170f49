"""The pinned gcovr on a program of our own."""

import subprocess
from pathlib import Path

from tools import coverage

ROOT = Path(__file__).resolve().parents[2]
SOURCE = """int twice(int x) {
  if (x > 3) {
    return 1;
  }
  return 2 * x;
}
int main() { return twice(0); }
"""


def test_lines_that_never_ran_are_named(tmp_path):
    build = tmp_path / "build"
    (tmp_path / "src" / "base").mkdir(parents=True)
    build.mkdir()
    (build / "venv").symlink_to(ROOT / "build" / "venv")
    (tmp_path / "src" / "base" / "twice.cpp").write_text(SOURCE)
    for command in (["g++-12", "--coverage", "-O0", "-c", "../src/base/twice.cpp", "-o", "twice.o"],
                    ["g++-12", "--coverage", "twice.o", "-o", "twice"], ["./twice"]):
        subprocess.run(command, cwd=build, check=True)
    lines = coverage.measure(tmp_path, build)["src/base"]
    assert lines.missed == {"src/base/twice.cpp": [3]}
    assert (lines.covered, lines.total) == (4, 5)
