"""Training in 16 bits; the optimizers themselves are the library's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import _nn
from .._array import Array
from .module import Module


class MixedPrecision(_nn.MixedPrecision):
    """Training in 16 bits, with a float32 master copy of the parameters and, for float16, a scaled loss."""

    def value_and_grad(self, module: Module, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function as nn.value_and_grad() does, which computes with parameters rounded to 16 bits.

        It returns None when a gradient overflowed: leave the update out then; the scale of the loss is lower already.
        Convert inputs by `astype(mixed.dtype)`.
        """
        def call(*args: Any, **kwargs: Any) -> tuple[Any, dict[str, Array]] | None:
            return _nn.mixed_value_and_grad(self, module._leaves(), function, *args, **kwargs)
        return call
