"""Checkpoints: everything that a program continues from, in one file."""

from __future__ import annotations

import os
from typing import Any

from .. import _nn
from .._array import Array


class Checkpoint(dict[str, Any]):
    """Arrays, integers, numbers and texts by name."""

    def state(self, prefix: str) -> dict[str, Array]:
        """Return the state dictionary that was saved under a name."""
        begin = prefix + "."
        return {name.removeprefix(begin): value for name, value in self.items()
                if name.startswith(begin) and isinstance(value, Array)}


def save_checkpoint(path: str | os.PathLike[str], values: dict[str, Any]) -> None:
    """Write arrays, state dictionaries, integers, numbers and texts by name to a file.

    The file is replaced in one step: a process that is killed at any point leaves the old file or the new one.
    """
    _nn.save_checkpoint(path, values)


def load_checkpoint(path: str | os.PathLike[str]) -> Checkpoint:
    """Return what save_checkpoint() or training wrote, with arrays on the CPU."""
    return Checkpoint(_nn.load_checkpoint(path))
