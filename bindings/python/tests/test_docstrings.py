"""Every public class, function and method has a docstring whose first line is a sentence."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import pytest

import vectis
from vectis import array, errors, kernel, memory, nn, plan


def public() -> Iterator[object]:
    for module in (vectis, array, errors, kernel, memory, nn, plan):
        for name, value in vars(module).items():
            if name.startswith("_") or inspect.ismodule(value) or not callable(value):
                continue
            if not getattr(value, "__module__", "").startswith("vectis"):
                continue
            yield pytest.param(value, id=f"{module.__name__}.{name}")
            if inspect.isclass(value) and not issubclass(value, Exception):
                for part, member in vars(value).items():
                    if not part.startswith("_") and callable(member):
                        yield pytest.param(member, id=f"{module.__name__}.{name}.{part}")


@pytest.mark.parametrize("value", public())
def test_docstrings(value: object) -> None:
    text = inspect.getdoc(value) or ""
    # nanobind begins with the signature: "add(self, ...) -> ...".
    lines = [line for line in text.splitlines() if line.strip() and "->" not in line]
    assert lines and lines[0][0].isupper() | lines[0].startswith(("'", "`")), "has no docstring"
