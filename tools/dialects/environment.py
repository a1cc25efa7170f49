"""The compilers from PyPI, in a virtual environment of their own: build/compilers."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build" / "compilers"
REQUIREMENTS = Path(__file__).with_name("requirements.txt")


def python() -> Path:
    """Its interpreter; made, or made anew when the requirements changed."""
    stamp, wanted = FOLDER / "stamp", REQUIREMENTS.read_text()
    if not stamp.is_file() or stamp.read_text() != wanted:
        subprocess.run([sys.executable, "-m", "venv", "--clear", FOLDER], check=True)
        subprocess.run([FOLDER / "bin" / "pip", "install", "-q", "--disable-pip-version-check", "-r", REQUIREMENTS],
                       check=True)
        stamp.write_text(wanted)
    return FOLDER / "bin" / "python"


def nvrtc_library() -> Path:
    python()
    found = sorted(FOLDER.glob("lib/python3*/site-packages/nvidia/**/libnvrtc.so*"))
    if not found:
        raise FileNotFoundError(f"no libnvrtc below {FOLDER}")
    return found[0]
