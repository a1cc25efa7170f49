"""FAISS's selectors of ids and parameters of searches."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._vectis import IdFilter
from ._common import Ids, Mask


class IDSelector:
    """Which ids a search may return, or a removal removes."""

    def mask(self, ids: Ids) -> Mask:
        """Return for each id whether it is a member."""
        raise NotImplementedError

    def allowed(self) -> Any:
        """Return the members as a filter of vectis.Index.search, or None when there is none such."""
        return None

    def is_member(self, id: int) -> bool:
        return bool(self.mask(np.array([id], np.int64))[0])


class IDSelectorAll(IDSelector):
    """Every id."""

    def mask(self, ids: Ids) -> Mask:
        return np.ones(len(ids), bool)


class IDSelectorRange(IDSelector):
    """The ids from `imin` to `imax - 1`."""

    def __init__(self, imin: int, imax: int, assume_sorted: bool = False) -> None:
        self.imin, self.imax, self.assume_sorted = int(imin), int(imax), assume_sorted

    def mask(self, ids: Ids) -> Mask:
        members: Mask = (ids >= self.imin) & (ids < self.imax)
        return members

    def allowed(self) -> range:
        return range(self.imin, self.imax)


class IDSelectorBatch(IDSelector):
    """The ids of an array, or of the first n of an array: IDSelectorBatch(ids), IDSelectorBatch(n, ids)."""

    def __init__(self, *args: Any) -> None:
        ids = np.array(_take(args), np.int64)
        (self.n,) = ids.shape
        self._ids = np.unique(ids)
        self._allowed: IdFilter | None = None

    def mask(self, ids: Ids) -> Mask:
        return np.isin(ids, self._ids)

    def allowed(self) -> IdFilter:
        if self._allowed is None:
            self._allowed = IdFilter(self._ids[self._ids >= 0])
        return self._allowed


class IDSelectorArray(IDSelectorBatch):
    """The ids of an array; the same as IDSelectorBatch here."""


class IDSelectorBitmap(IDSelector):
    """The ids whose bit is set: bit i % 8 of byte i // 8 is that of id i."""

    def __init__(self, *args: Any) -> None:
        bitmap = _take(args)
        if bitmap.dtype != np.uint8:
            raise TypeError(f"a bitmap is an array of uint8, not of {bitmap.dtype}")
        self.n = len(bitmap)
        self._members = np.unpackbits(bitmap, bitorder="little").astype(bool)
        self._allowed = IdFilter(self._members)

    def mask(self, ids: Ids) -> Mask:
        inside = (ids >= 0) & (ids < len(self._members))
        inside[inside] = self._members[ids[inside]]
        return inside

    def allowed(self) -> IdFilter:
        return self._allowed


class IDSelectorNot(IDSelector):
    """The ids that are not members of another selector."""

    def __init__(self, sel: IDSelector) -> None:
        self.sel = sel

    def mask(self, ids: Ids) -> Mask:
        return ~self.sel.mask(ids)


class _Both(IDSelector):
    def __init__(self, lhs: IDSelector, rhs: IDSelector) -> None:
        self.lhs, self.rhs = lhs, rhs


class IDSelectorAnd(_Both):
    """The ids that are members of both selectors."""

    def mask(self, ids: Ids) -> Mask:
        return self.lhs.mask(ids) & self.rhs.mask(ids)


class IDSelectorOr(_Both):
    """The ids that are members of one selector or both."""

    def mask(self, ids: Ids) -> Mask:
        return self.lhs.mask(ids) | self.rhs.mask(ids)


class IDSelectorXOr(_Both):
    """The ids that are members of exactly one selector."""

    def mask(self, ids: Ids) -> Mask:
        return self.lhs.mask(ids) ^ self.rhs.mask(ids)


class SearchParameters:
    """Parameters of one search: `sel` selects the ids that it may return."""

    def __init__(self, **fields: Any) -> None:
        self.sel: IDSelector | None = None
        self._set(fields)

    def _set(self, fields: dict[str, Any]) -> None:
        for name, value in fields.items():
            assert hasattr(self, name), f"{type(self).__name__} has no parameter {name}"
            setattr(self, name, value)


class SearchParametersHNSW(SearchParameters):
    """Parameters of one search of a graph; `efSearch` replaces that of the index."""

    def __init__(self, **fields: Any) -> None:
        self.sel = None
        self.efSearch = 16
        self.check_relative_distance = True
        self.bounded_queue = True
        self._set(fields)


def _take(args: tuple[Any, ...]) -> Any:
    """Return the array of a call with (array) or (count, array)."""
    if len(args) == 1:
        return np.asarray(args[0])
    count, values = args
    return np.asarray(values)[:count]
