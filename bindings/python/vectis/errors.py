"""Exceptions of Vectis: one class for each error code of the library.

Every class derives from `Error` and, where Python has a class of the same meaning, from that class too, so that
`except ValueError` or `except MemoryError` work as expected. `docs/errors.md` describes each code and what to do.
"""

from __future__ import annotations


class Error(Exception):
    """A failure of Vectis. Its text reads "[call] what happened, value, limit; what to do"."""

    code: int = 0  #: the stable number of the error
    op: str = ""  #: the call that failed
    detail: str = ""  #: longer text, such as the output of a compiler; often empty


class InvalidInputError(Error, ValueError):
    """An argument, a setting or data is out of range or of the wrong shape."""

    code = 1


class InvalidIndexError(InvalidInputError, IndexError):
    """An index or an axis of an array does not exist."""


class AllocationError(Error, MemoryError):
    """Host or device memory does not suffice."""

    code = 2


class BackendCreationError(Error, RuntimeError):
    """A device was named that cannot be used."""

    code = 3


class UnsupportedBackendError(Error, LookupError):
    """No backend has the requested name."""

    code = 4


class UnsupportedError(Error, NotImplementedError):
    """The index, metric, device or file format does not offer this."""

    code = 5


class DeviceLostError(Error, RuntimeError):
    """The device stopped working while in use."""

    code = 6


class NoCompilerError(Error, RuntimeError):
    """The device has no compiler for this kernel."""

    code = 7


class CompileFailedError(Error, RuntimeError):
    """A kernel does not compile; `detail` is the compiler's output."""

    code = 8


class DriverFailureError(Error, RuntimeError):
    """A driver reported a failure."""

    code = 9


class ForkedError(Error, RuntimeError):
    """The process was forked after Vectis was used: use the start method "spawn", or import and use it in the child only."""

    code = 10


class CancelledError(Error):
    """The call was cancelled; it changed nothing."""

    code = 11


class DeadlineExceededError(Error, TimeoutError):
    """The call took longer than its `timeout`; it changed nothing."""

    code = 12


class IoError(Error, OSError):
    """A file cannot be read or written."""

    code = 13


class CorruptDataError(Error, ValueError):
    """A file is truncated or corrupt."""

    code = 14


_classes: dict[int, type[Error]] = {
    kind.code: kind
    for kind in (
        InvalidInputError, AllocationError, BackendCreationError, UnsupportedBackendError, UnsupportedError,
        DeviceLostError, NoCompilerError, CompileFailedError, DriverFailureError, ForkedError, CancelledError,
        DeadlineExceededError, IoError, CorruptDataError,
    )
}
_INDEXING = {"index", "select", "take", "expand_dims"}  # calls whose invalid input is an index or an axis


def make_error(code: int, message: str, op: str, detail: str) -> Error:
    """Make the exception of an error code; the native module calls it."""
    kind = _classes.get(code, Error)
    error = (InvalidIndexError if kind is InvalidInputError and op in _INDEXING else kind)(message)
    error.code, error.op, error.detail = code, op, detail
    return error
