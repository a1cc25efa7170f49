"""Data sets, and their batches in an order that a seed determines, read ahead on other threads."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from .. import _nn, _vectis, array
from .._array import Array


class Dataset:
    """Examples of the same fields, such as an image and its label. Derive from it to read examples from elsewhere.

    A DataLoader calls it on several threads. A data set of another library with `__len__` and `__getitem__`, such as one of
    PyTorch, may be used as it is.
    """

    def __len__(self) -> int:
        """Return the number of examples."""
        raise NotImplementedError(f"{type(self).__name__} does not define __len__")

    def __getitem__(self, index: int) -> Any:
        """Return the fields of an example: a tuple of arrays or numbers."""
        raise NotImplementedError(f"{type(self).__name__} does not define __getitem__")

    def examples(self, indices: list[int]) -> Sequence[Any]:
        """Return the fields of several examples, which are counted along the first axis; override it to read them at once."""
        return _stacked([self[index] for index in indices])


class _NativeDataset(Dataset):
    """A data set of the library, in `_native`."""

    _native: Any

    def __len__(self) -> int:
        """Return the number of examples."""
        return len(self._native)

    def __getitem__(self, index: int) -> tuple[Array, ...]:
        """Return the fields of an example."""
        size = len(self)
        number = operator.index(index)
        if not -size <= number < size:
            raise IndexError(f"example {number} of {size}")
        return tuple(field[0] for field in self._native.examples([number % size]))


class TensorDataset(_NativeDataset):
    """Examples in memory: example i is row i of each field, an array or what `asarray` takes."""

    def __init__(self, *fields: Any) -> None:
        self._native = _nn.tensor_dataset(list(fields))


class DatasetRange(_NativeDataset):
    """The examples [begin, end) of another data set."""

    def __init__(self, dataset: Any, begin: int, end: int) -> None:
        self._native = _nn.dataset_range(as_dataset(dataset), begin, end)


class _Rows(Dataset):
    """A sequence of examples that is no Dataset."""

    def __init__(self, rows: Sequence[Any]) -> None:
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: int) -> Any:
        return self._rows[index]


def as_dataset(data: Any) -> Any:
    """A data set of ours, or a sequence of examples as one."""
    if hasattr(data, "examples"):
        return data
    if hasattr(data, "__len__") and hasattr(data, "__getitem__") and not hasattr(data, "dtype"):
        return _Rows(data)
    raise TypeError(f"a data set has __len__ and __getitem__, which {type(data).__name__} does not; give arrays to "
                    "TensorDataset")


def _stacked(examples: Sequence[Any]) -> list[Any]:
    """The fields of examples, whose first axis counts the examples."""
    rows = [example if isinstance(example, (tuple, list)) else (example,) for example in examples]
    if len({len(row) for row in rows}) > 1:
        raise ValueError("examples have different numbers of fields")
    return [_joined(field) for field in zip(*rows, strict=True)]


def _joined(values: Sequence[Any]) -> Any:
    if isinstance(values[0], (bool, int, float)):
        return array.asarray(list(values))
    return np.stack([np.asarray(value) for value in values])


class DataLoader:
    """Reads a data set in batches, epoch after epoch: tuples of arrays.

    ```python
    loader = nn.DataLoader(nn.TensorDataset(images, labels), batch_size=64, seed=1)
    for x, y in loader:  # one epoch
        ...
    ```
    The order of an epoch is a function of seed and epoch alone. An iteration that was left early begins its epoch again; after
    seek() the next one continues there. One iteration at a time: a new one, or seek(), ends those before it, which raise
    RuntimeError then. Threads, nested loops and `zip` take a loader each.
    """

    def __init__(self, dataset: Any, batch_size: int = 32, *, shuffle: bool = True, seed: int = 0,
                 drop_last: bool = False, prefetch: int = 2, device: _vectis.Device | int | str | None = None) -> None:
        """Start before the first batch of epoch 0.

        `drop_last` leaves out the last batch of an epoch when it is smaller, `prefetch` batches are read ahead, and
        batches are copied to `device`.
        """
        self.dataset = as_dataset(dataset)
        self._native = _nn.Loader(self.dataset, batch_size, shuffle, seed, drop_last, prefetch, device)
        self._sought = False
        self._newest: object = None  # the iteration that may read

    def __len__(self) -> int:
        """Return the number of batches of an epoch."""
        return self._native.batches

    def __iter__(self) -> Iterator[tuple[Array, ...]]:
        """Begin an iteration over an epoch."""
        epoch, batch = self._native.position
        if batch != 0 and not self._sought:
            self._native.seek(epoch, 0)
        self._sought = False
        self._newest = newest = object()
        return self._batches(newest)

    def _batches(self, iteration: object) -> Iterator[tuple[Array, ...]]:
        while True:
            if self._newest is not iteration:
                raise RuntimeError("a newer iteration of this DataLoader, or seek(), has ended this one; make a loader for each "
                                   "iteration that runs at the same time")
            fields = self._native.next()
            if fields is None:
                return
            yield fields

    @property
    def position(self) -> tuple[int, int]:
        """The epoch and the number of the next batch in it; a checkpoint stores it for seek()."""
        return self._native.position

    def seek(self, epoch: int, batch: int = 0) -> None:
        """Continue at a batch of an epoch."""
        self._native.seek(epoch, batch)
        self._sought = True
        self._newest = None
