"""Runs the same code with another library and with the module that stands for it, and compares what happens."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

SCRIPTS = Path(__file__).parent / "scripts"
comparisons = 0  # of outcomes with both modules, so far


def outcome(action: Callable[[], Any]) -> Any:
    """What an action returns, or the class of the exception that it raises."""
    try:
        return action()
    except Exception as error:
        return type(error)


def assert_same(theirs: Any, ours: Any) -> None:
    """Compare results: types, shapes and values; floats up to float32's rounding; exceptions by class."""
    if isinstance(theirs, type):
        assert isinstance(ours, type) and issubclass(ours, theirs), f"{theirs} there, {ours!r} here"
    elif isinstance(theirs, np.ndarray):
        assert isinstance(ours, np.ndarray), f"an array there, {ours!r} here"
        assert theirs.dtype == ours.dtype and theirs.shape == ours.shape, f"{theirs!r} there, {ours!r} here"
        if theirs.dtype.kind == "f":
            np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)
        else:
            np.testing.assert_array_equal(ours, theirs)
    elif isinstance(theirs, (tuple, list)):
        assert type(theirs) is type(ours) and len(theirs) == len(ours), f"{theirs!r} there, {ours!r} here"
        for one, other in zip(theirs, ours):
            assert_same(one, other)
    else:
        assert theirs == ours


def compare(their_module: ModuleType, our_module: ModuleType, action: Callable[[Any], Any]) -> Any:
    """Run action(module) with both modules, check that the outcomes are the same, and return ours."""
    global comparisons
    comparisons += 1
    ours = outcome(lambda: action(our_module))
    assert_same(outcome(lambda: action(their_module)), ours)
    return ours


def run_script(name: str, library: str, switched: bool, folder: Path) -> str:
    """Run a script, with its import switched to vectis.compat or as it is, and return what it prints."""
    text = (SCRIPTS / name).read_text()
    line = f"import {library}\n"
    assert text.count(line) == 1
    if switched:
        text = text.replace(line, f"from vectis.compat import {library}\n")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(text, name, "exec"), {"__name__": "__main__", "FOLDER": str(folder)})
    return printed.getvalue()
