"""Misuse that reviews found: races, forks, overlapping arrays, text that is not UTF-8, broken terminals, bad numbers."""

from __future__ import annotations

import asyncio
import contextvars
import io
import json
import os
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable

import numpy as np
import pytest
import vectis
from vectis import kernel, memory, plan

DEVICE = "opencl"
SECONDS = float(os.environ.get("VECTIS_TEST_SECONDS", "2"))  # of what races


def run_script(script: str, *arguments: str, seconds: float = 60, **environment: str) -> str:
    """Runs a script in a process of its own, which must end: deadlocks and crashes are failures of one test."""
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script), *arguments], timeout=seconds, check=False,
                          capture_output=True, text=True, errors="backslashreplace", env={**os.environ, **environment})
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


# Text that is not UTF-8.

def test_errors_with_other_bytes(tmp_path):
    path = os.fsencode(tmp_path / "missing") + b"/\xff\xfe"
    for work in (lambda: vectis.Index.load(path), lambda: vectis.profile().write_trace(path),
                 lambda: vectis.Index(dim=2).save(os.fsdecode(path)), lambda: vectis.VectorStore.load(path)):
        with pytest.raises(vectis.IoError, match="missing/\ufffd\ufffd"):
            work()


def test_errors_that_cut_text():
    array = kernel.empty(4, "float32", "cpu")
    text = json.loads(memory.snapshot("cpu").to_json())
    for prefix in ("", "a"):
        text["blocks"] = [{"segment": 0, "offset": 0, "bytes": 1, "state": prefix + "é" * 50}]
        with pytest.raises(vectis.CorruptDataError):
            memory.MemorySnapshot.from_json(json.dumps(text, ensure_ascii=False))
        with pytest.raises(vectis.Error):
            vectis.VectorStore().create_collection(prefix + "é" * 5000, dim=2)
    del array


def test_reports_with_other_bytes():
    run_script("""
        import logging, os
        import vectis
        records = []
        handler = logging.Handler()
        handler.emit = records.append
        logging.getLogger("vectis").addHandler(handler)
        logging.getLogger("vectis").setLevel(1)
        report = vectis.doctor()
        texts = [str(report), report._repr_html_(), *report.warnings]
        texts += [text for found in report.backends for text in (found.reason, found.advice)]
        texts += [backend.reason for backend in vectis.backends()] + [record.getMessage() for record in records]
        "".join(texts).encode()   # no surrogates
        paths = [backend.path for backend in vectis.backends()] + [found.path for found in report.backends]
        assert all(os.fsdecode(os.fsencode(path)) == path for path in paths)
        assert any("m\\ufffdller" in text for text in texts), texts
    """, VECTIS_BACKEND_PATH="/opt/m\udcfcller")


def test_messages_with_surrogates():
    with pytest.raises(vectis.InvalidInputError):
        kernel.run("fill", np.zeros(3, np.float32), device="cpu", **{"\ud800": 1})
    with pytest.raises(vectis.InvalidInputError):
        kernel.Kernel("f", "", buffers={"x": "\ud800"}, device=DEVICE)
