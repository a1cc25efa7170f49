"""What layers of the library share as Python modules."""

from __future__ import annotations

from typing import Any

from .. import _nn
from .._array import Array, Generator
from . import random
from .module import Module, _as_array, _Leaf


class NativeModule(Module):
    """A module of the library: its arrays are attributes, such as `dense.weight`, and may be replaced by others."""

    _native: Any
    _names: dict[str, bool]
    _made: tuple[Any, ...]  # the arguments of the native module
    _draws: bool  # whether it takes a generator besides

    def _make(self, *arguments: Any, generator: Generator | None = None, draws: bool = True) -> None:
        """Make the native module of the class's name; `draws`: it takes a generator behind the other arguments."""
        super().__init__()
        self._made, self._draws = arguments, draws
        if draws:
            arguments = (*arguments, random.for_new_module() if generator is None else generator)
        self._hold(self._construct(*arguments))

    def _construct(self, *arguments: Any) -> Any:
        for kind in self._library_kinds():  # a class that derives from a layer has its native module
            if hasattr(_nn, kind.__name__):
                return getattr(_nn, kind.__name__)(*arguments)
        raise TypeError(f"the library has no module for {type(self).__name__}")

    @classmethod
    def _library_kinds(cls) -> list[type]:
        """The classes of layers in this package that the class is or derives from, the nearest first."""
        return [kind for kind in cls.__mro__ if issubclass(kind, NativeModule) and kind is not NativeModule
                and kind.__module__.startswith(__package__ + ".")]

    @classmethod
    def _may_have(cls, name: str) -> bool:
        """Whether layers of this class have an array of this name, unless they are made without it, such as a bias."""
        return any(name in vars(kind).get("__annotations__", {}) for kind in cls._library_kinds())

    def _hold(self, native: Any) -> None:
        vars(self)["_native"] = native
        vars(self)["_names"] = native.names()

    def _random(self) -> Generator | None:
        return random.for_training() if self.training else None

    def __call__(self, x: Array) -> Array:
        """Apply the layer."""
        result: Array = self._native.forward(x, self._random())
        return result

    # --- Arrays as attributes -----------------------------------------------------------------------------------------

    def __getattr__(self, name: str) -> Any:
        names = vars(self).get("_names", {})
        if name in names:
            return self._native.get(name)
        if any(one.startswith(name + ".") for one in names):
            return Part(self._native, name)
        if self._may_have(name):
            return None
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        if name in vars(self).get("_names", {}):
            self._native.set(name, _as_array(value))
        elif self._is_of_native(name):
            self._refuse(name, value)
        else:
            super().__setattr__(name, value)

    def _is_of_native(self, name: str) -> bool:
        """Whether an attribute of this name is for the native module, which does not have it as one array."""
        names = vars(self).get("_names")
        return names is not None and (self._may_have(name) or any(one.startswith(name + ".") for one in names))

    def _refuse(self, name: str, value: Any) -> None:
        if self._may_have(name):
            if value is None:  # as it is
                return
            raise AttributeError(f"this {type(self).__name__} was made without {name}, so it would not use an array assigned to "
                                 "it; make the layer with it")
        raise AttributeError(f"{name} is a part of this {type(self).__name__}; assign to the arrays in it")

    def _collect(self, path: str, leaves: list[_Leaf], seen: set[int], with_repeats: bool) -> None:
        if id(self) not in seen and self._names:
            leaves.append((path, not self._frozen, self._native))
        super()._collect(path, leaves, seen, with_repeats)

    # --- Copies -------------------------------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        kept = {name: value for name, value in vars(self).items() if name not in ("_native", "_names")}
        return {**kept, "_arrays": {name: self._native.get(name) for name in self._names}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        arrays = state.pop("_arrays")
        vars(self).update(state)
        self._hold(self._construct(*self._made, *((Generator(0),) if self._draws else ())))
        for name, value in arrays.items():
            self._native.set(name, value)

    def _arguments_text(self) -> str:
        return ", ".join(repr(argument) for argument in self._made)


class Part:
    """A module within a module of the library: `encoder.layers[0].linear1` has the attribute `weight`."""

    __slots__ = ("_native", "_path")

    def __init__(self, native: Any, path: str) -> None:
        object.__setattr__(self, "_native", native)
        object.__setattr__(self, "_path", path)

    def __getattr__(self, name: str) -> Any:
        path = f"{self._path}.{name}"
        names = self._native.names()
        if path in names:
            return self._native.get(path)
        if any(one.startswith(path + ".") for one in names):
            return Part(self._native, path)
        raise AttributeError(f"the module has no {path}")

    def __setattr__(self, name: str, value: Any) -> None:
        self._native.set(f"{self._path}.{name}", _as_array(value))

    def __getitem__(self, index: int) -> Any:
        if not any(one.startswith(f"{self._path}.{index}.") for one in self._native.names()):
            raise IndexError(f"{self._path} has no part {index}")
        return Part(self._native, f"{self._path}.{index}")

    def __repr__(self) -> str:
        return f"<{self._path}>"
