"""Every Python block of the documents and every example runs, with the installed wheel."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
DOCUMENTS = ["README.md", "docs/python.md", "docs/python-arrays.md", "docs/python-networks.md"]
if importlib.util.find_spec("sklearn"):  # CI runs these tests once more where the peers are installed
    DOCUMENTS.append("docs/python-compat.md")


def blocks() -> list[object]:
    found: list[object] = []
    for name in DOCUMENTS:
        text = (ROOT / name).read_text() if (ROOT / name).is_file() else ""
        found += [pytest.param(block, id=f"{name}-{i}")
                  for i, block in enumerate(re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL))]
    return found


def run(*arguments: str, folder: Path) -> str:
    done = subprocess.run([sys.executable, *arguments], cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("block", blocks())
def test_blocks_of_documents(block: str, tmp_path: Path) -> None:
    run("-W", "error", "-c", block, folder=tmp_path)


@pytest.mark.parametrize("example", sorted(path.name for path in (ROOT / "examples" / "python").glob("*.py")))
def test_examples(example: str, tmp_path: Path) -> None:
    assert run(str(ROOT / "examples" / "python" / example), folder=tmp_path)
