"""A new operation is three files: the build finds them by itself. `python3 -m tools.add_operation` goes on to run it on
cpu and opencl; here only what changed is compiled."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_three_files_are_enough():
    done = subprocess.run([sys.executable, "-m", "tools.add_operation", "--compile"], cwd=ROOT, capture_output=True,
                          text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "3 files were sufficient" in done.stdout
    build = ROOT / "build" / "add-operation" / "build"
    parts = [file for file in build.rglob("*_parts.inc") if "VECTIS_PART(halve)" in file.read_text()]
    assert len(parts) == 3, parts
