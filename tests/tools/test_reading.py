"""The reading test draws declarations with their comments and paragraphs of prose, the same ones for a seed."""

import json
import subprocess
import sys
from pathlib import Path

from tools import reading

ROOT = Path(__file__).resolve().parents[2]

HEADER = """// What this file is for.
#pragma once

// Returns the square of x. Throws InvalidInput if x is negative.
int square(int x);

// A comment on no declaration.

// A buffer.
// Thread-safe.
class Buffer {
"""
PAGE = """# Title
One paragraph with more than eight words in it, over
two lines.

| a table | is not prose |

```
code is not prose either, whatever its length in words may be
```
Too short.
"""


def test_declarations_come_with_their_comments():
    assert reading.declarations(HEADER) == [
        (4, "// Returns the square of x. Throws InvalidInput if x is negative.\nint square(int x);"),
        (9, "// A buffer.\n// Thread-safe.\nclass Buffer {")]


def test_paragraphs_are_prose():
    assert reading.paragraphs(PAGE) == [(2, "One paragraph with more than eight words in it, over\ntwo lines.")]


def test_a_seed_draws_the_same_excerpts(tmp_path):
    for name in ("first", "second"):
        subprocess.run([sys.executable, "-m", "tools.reading", "--seed", "7", "--out", tmp_path / name], cwd=ROOT, check=True)
    first, second = (json.loads((tmp_path / name / "key.json").read_text()) for name in ("first", "second"))
    assert first == second
    assert len(first["declarations"]) == len(first["paragraphs"]) == reading.COUNT
