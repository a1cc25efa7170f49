"""Safetensors files: the format in which most published weights of models are."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from .. import _nn
from .._array import Array
from .._nn import read_safetensors
from .module import _as_array

__all__ = ["load_safetensors", "read_safetensors", "save_safetensors"]


def load_safetensors(path: str | os.PathLike[str]) -> dict[str, Array]:
    """Return the arrays of a safetensors file by name, on the CPU and in the order of the file.

    Raises CorruptDataError for a file that breaks the rules of the format, and UnsupportedError for an element type that
    arrays do not have, such as uint16. `read_safetensors` also returns the metadata of the file.
    """
    return read_safetensors(path)[0]


def save_safetensors(path: str | os.PathLike[str], state: Mapping[str, Any],
                     metadata: Mapping[str, str] | None = None) -> None:
    """Write arrays by name to a safetensors file: ours, NumPy's or PyTorch's.

    The file is replaced in one step, and is byte for byte what the package `safetensors` writes. Metadata are texts by
    name, such as `{"format": "pt"}`.
    """
    arrays = {name: _as_array(value) for name, value in state.items()}
    _nn.save_safetensors(path, arrays, dict(metadata or {}))
