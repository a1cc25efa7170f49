"""Modules: classes whose arrays are found by visiting their attributes, and gradients with respect to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Self

from .. import _vectis, array  # makes vectis._nn, which has no file of its own
from .. import _nn
from .._array import Array, DType

if TYPE_CHECKING:
    from .._types import ArrayDType

_FLOATING = frozenset((DType.float32, DType.float64, DType.float16, DType.bfloat16))

# (path, whether it is trained, container, key) of an array, (path, whether it is trained, native module).
_Leaf = tuple[Any, ...]


class Module:
    """The base of modules: what is assigned to attributes is found by its name.

    ```python
    class Classifier(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.hidden = nn.Dense(784, 512)
            self.output = nn.Dense(512, 10)

        def __call__(self, x):
            return self.output(nn.relu(self.hidden(x)))
    ```
    Floating-point arrays are parameters, other arrays and those given to `register_buffer` buffers. Modules and arrays may
    stand in lists and dictionaries, modules also in tuples. Names that begin with "_" are skipped. An array is a value:
    to use the same parameters twice, use the same module twice.
    """

    training: bool = True  #: whether the module computes for training; see train() and eval()
    _frozen: bool = False
    _buffers: frozenset[str] = frozenset()

    def __init__(self) -> None:
        self.training = True

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the module's result; the method `forward`, where a class has one."""
        forward = getattr(self, "forward", None)
        if forward is None:
            raise NotImplementedError(f"{type(self).__name__} defines neither __call__ nor forward")
        return forward(*args, **kwargs)

    # --- Parameters and buffers ---------------------------------------------------------------------------------------

    def register_buffer(self, name: str, value: Array) -> None:
        """Set an attribute to an array that is part of the state, but not trained."""
        self._buffers = self._buffers | {name}
        setattr(self, name, value)

    def parameters(self) -> dict[str, Array]:
        """Return the parameters that are trained, by name: all but those of frozen modules."""
        return _nn.parameters(self._leaves())

    def parameter_count(self) -> int:
        """Return the number of elements of all parameters that are trained."""
        return sum(value.size for value in self.parameters().values())

    def state_dict(self) -> dict[str, Array]:
        """Return parameters and buffers by the names that PyTorch gives them in modules of the same structure."""
        return _nn.state_dict(self._leaves(with_repeats=True))

    def load_state_dict(self, state: Mapping[str, Any], strict: bool = True) -> None:
        """Replace parameters and buffers by those of the same names: our arrays, NumPy's or PyTorch's.

        They are converted to the types and copied to the devices of the arrays they replace. Raises InvalidInputError,
        which lists all names that are missing, unused or of another shape, and changes nothing then; with strict=False
        names that only one side has are left alone.
        """
        arrays = {name: _as_array(value) for name, value in state.items()}
        _nn.load_state_dict(self._leaves(with_repeats=True), arrays, strict)

    def to(self, device: _vectis.Device | int | str) -> Self:
        """Copy all arrays to a device."""
        _nn.move_to(self._leaves(with_repeats=True), device)
        return self

    def astype(self, dtype: ArrayDType) -> Self:
        """Convert all floating-point arrays."""
        _nn.convert_to(self._leaves(with_repeats=True), dtype)
        return self

    # --- Modes --------------------------------------------------------------------------------------------------------

    def train(self, mode: bool = True) -> Self:
        """Make the module and those in it compute for training, which matters to dropout and batch normalization."""
        for module in self.modules():
            module.training = mode
        return self

    def eval(self) -> Self:
        """Make the module and those in it compute for inference."""
        return self.train(False)

    def freeze(self) -> Self:
        """Exclude the parameters of the module and of those in it from training."""
        for module in self.modules():
            module._frozen = True
        return self

    def unfreeze(self) -> Self:
        """Include the parameters of the module and of those in it in training."""
        for module in self.modules():
            module._frozen = False
        return self

    # --- Visits -------------------------------------------------------------------------------------------------------

    def named_modules(self) -> Iterator[tuple[str, Module]]:
        """Iterate over the module itself, named "", and all modules in it, each once."""
        seen: set[int] = set()
        pending: list[tuple[str, Module]] = [("", self)]
        while pending:
            path, module = pending.pop()
            if id(module) in seen:
                continue
            seen.add(id(module))
            yield path, module
            prefix = path + "." if path else ""
            pending += reversed([(prefix + name, child) for name, child in module.named_children()])

    def modules(self) -> Iterator[Module]:
        """Iterate over the module itself and all modules in it, each once."""
        return (module for _, module in self.named_modules())

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """Iterate over the modules in attributes of this one."""
        for name, value in self._members():
            for path, _, _, part in _parts(vars(self), name, value, name):
                if isinstance(part, Module):
                    yield path, part

    def _members(self) -> list[tuple[str, Any]]:
        return [(name, value) for name, value in vars(self).items() if not name.startswith("_")]

    def _leaves(self, with_repeats: bool = False) -> list[_Leaf]:
        """All arrays and native modules; those of a module in several places once, or at each place."""
        leaves: list[_Leaf] = []
        self._collect("", leaves, set(), with_repeats)
        return leaves

    def _collect(self, path: str, leaves: list[_Leaf], seen: set[int], with_repeats: bool) -> None:
        if id(self) in seen:
            return
        seen.add(id(self))
        prefix = path + "." if path else ""
        for name, value in self._members():
            for part_path, container, key, part in _parts(vars(self), name, value, prefix + name):
                if isinstance(part, Module):
                    part._collect(part_path, leaves, seen, with_repeats)
                else:
                    trained = part.dtype in _FLOATING and not self._frozen and name not in self._buffers
                    leaves.append((part_path, trained, container, key))
        if with_repeats:
            seen.remove(id(self))

    def __repr__(self) -> str:
        children = [f"  {name}: " + repr(child).replace("\n", "\n  ") for name, child in self.named_children()]
        inner = "\n" + "\n".join(children) + "\n" if children else ""
        return f"{type(self).__name__}({self._arguments_text()}{inner})"

    def _arguments_text(self) -> str:
        return ""


def _parts(container: Any, key: Any, value: Any, path: str) -> Iterator[tuple[str, Any, Any, Any]]:
    """The arrays and modules in an attribute, with their paths and where they stand."""
    if isinstance(value, Array):
        if isinstance(container, tuple):
            raise TypeError(f"{path} is an array in a tuple, which training cannot replace; use a list")
        yield path, container, key, value
    elif isinstance(value, Module):
        yield path, container, key, value
    elif isinstance(value, (list, tuple)):
        for i, part in enumerate(value):
            yield from _parts(value, i, part, f"{path}.{i}")
    elif isinstance(value, dict):
        for name, part in value.items():
            yield from _parts(value, name, part, f"{path}.{name}")


def _as_array(value: Any) -> Array:
    """An array of ours, NumPy's or PyTorch's as ours, in memory of its own."""
    if isinstance(value, Array):
        return value
    if hasattr(value, "detach") and hasattr(value, "cpu"):  # PyTorch shares no memory of tensors with gradients
        value = value.detach().cpu()
    if hasattr(value, "__dlpack__") and not hasattr(value, "__array_interface__"):
        return array.from_dlpack(value, copy=True)
    return array.asarray(value)


class _ValueAndGrad:
    """What value_and_grad() returns."""

    def __init__(self, module: Module, function: Callable[..., Any]) -> None:
        self._module = module
        self._function = function

    def __call__(self, *args: Any, **kwargs: Any) -> tuple[Any, dict[str, Array]]:
        """Return what the function returns, and the gradients of its loss by the names of the parameters."""
        return _nn.value_and_grad(self._module._leaves(), self._function, *args, **kwargs)


def value_and_grad(module: Module, function: Callable[..., Any]) -> _ValueAndGrad:
    """Return a function that returns the loss that `function` computes with a module, and its gradients.

    ```python
    loss, gradients = nn.value_and_grad(model, loss_of)(model, x, y)
    optimizer.update(model, gradients)
    ```
    The arguments are passed to `function`, which returns one number, or a tuple that begins with it. Gradients are a
    dictionary by the names of the parameters that are not frozen.
    """
    return _ValueAndGrad(module, function)
