"""One exception class for each error code."""

from __future__ import annotations

import pickle

import pytest

import vectis
from vectis import _vectis, errors


def classes() -> dict[int, type[errors.Error]]:
    return {kind.code: kind for kind in vars(errors).values()
            if isinstance(kind, type) and errors.Error in kind.__bases__}


def test_every_code_has_a_class_of_its_name():
    found = classes()
    for code, name, _, _ in _vectis.error_catalog():
        assert found[code].__name__ == f"{name.removesuffix('Error')}Error"
        assert getattr(vectis, found[code].__name__) is found[code]
    assert len(found) == len(_vectis.error_catalog())


def test_errors_carry_code_call_and_text():
    with pytest.raises(vectis.Error) as caught:
        vectis.Index(dim=0)
    error = caught.value
    assert type(error) is vectis.InvalidInputError and isinstance(error, ValueError)
    assert error.code == 1 and error.op and str(error).startswith(f"[{error.op}]")
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error) and str(again) == str(error) and again.op == error.op


def test_a_python_class_catches_where_there_is_one():
    for kind, python in [(vectis.AllocationError, MemoryError), (vectis.DeadlineExceededError, TimeoutError),
                         (vectis.IoError, OSError), (vectis.UnsupportedError, NotImplementedError),
                         (vectis.CorruptDataError, ValueError), (vectis.UnsupportedBackendError, LookupError)]:
        assert issubclass(kind, python)
