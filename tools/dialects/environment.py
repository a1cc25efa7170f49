"""The compilers from PyPI, in their own virtual environment: build/compilers."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build" / "compilers"
REQUIREMENTS = Path(__file__).with_name("requirements.txt")


def python() -> Path:
    """Its interpreter; created, and created again when the requirements changed."""
    stamp, wanted = FOLDER / "stamp", REQUIREMENTS.read_text()
    if not stamp.is_file() or stamp.read_text() != wanted:
        subprocess.run([sys.executable, "-m", "venv", "--clear", FOLDER], check=True)
        subprocess.run([FOLDER / "bin" / "pip", "install", "-q", "--disable-pip-version-check", "-r", REQUIREMENTS],
                       check=True)
        stamp.write_text(wanted)
    return FOLDER / "bin" / "python"


def nvrtc_library() -> Path:
    """That of CUDA 13, which ./dev setup installs in build/venv."""
    return _library(ROOT / "build" / "venv", "libnvrtc.so.13")


def old_nvrtc_library() -> Path:
    """That of CUDA 12, which still compiles for a V100."""
    return _library(ROOT / "build" / "venv", "libnvrtc.so.12")


def ptxas() -> Path:
    """The assembler of CUDA 12."""
    python()
    return _library(FOLDER, "ptxas")


def _library(folder: Path, name: str) -> Path:
    found = sorted(folder.glob(f"lib/python3*/site-packages/nvidia/**/{name}"))
    if not found:
        raise FileNotFoundError(f"no {name} below {folder}; run ./dev setup")
    return found[0]
