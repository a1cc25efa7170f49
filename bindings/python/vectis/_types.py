"""Names of types for annotations in classes that have a method `numpy`, which hides the module of that name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from numpy.typing import DTypeLike, NDArray

if TYPE_CHECKING:
    import numpy

    from ._array import Array, DType

AnyArray: TypeAlias = NDArray[Any]
ArrayLike: TypeAlias = "Array | bool | int | float | NDArray[Any] | numpy.generic[Any]"  # operands of vectis.array
ArrayDType: TypeAlias = "DType | str | type | numpy.dtype[Any]"  # element types of vectis.array

__all__ = ["AnyArray", "ArrayDType", "ArrayLike", "DTypeLike"]
