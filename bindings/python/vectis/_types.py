"""Names of types for annotations in classes that have a method `numpy`, which hides the module of that name."""

from __future__ import annotations

from typing import Any, TypeAlias

from numpy.typing import DTypeLike, NDArray

AnyArray: TypeAlias = NDArray[Any]

__all__ = ["AnyArray", "DTypeLike"]
