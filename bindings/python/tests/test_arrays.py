"""What counts as an array: element types, layouts, and exchange protocols."""

from __future__ import annotations

import array
import sys
import types

import numpy as np
import pytest

import vectis


@pytest.fixture
def index() -> vectis.Index:
    return vectis.Index(dim=3, kind="flat")


ROWS = [[1, 2, 3], [4, 5, 6], [7, 8, 9], [-1, 0, 2]]


class WithInterface:
    """An array of another library that only has `__array_interface__`."""

    def __init__(self, values: np.ndarray) -> None:
        self._values = values
        self.__array_interface__ = values.__array_interface__


class WithDlpack:
    """An array of another library that only has DLPack."""

    def __init__(self, values: np.ndarray) -> None:
        self._values = values

    def __dlpack__(self, **options: object) -> object:
        return self._values.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._values.__dlpack_device__()


def forms() -> list[tuple[str, object]]:
    base = np.array(ROWS, np.float32)
    wide = np.zeros((4, 5), np.float32)
    wide[:, 1:4] = base
    return [(str(dtype), base.astype(dtype)) for dtype in
            ("float32", "float16", "float64", "int8", "int16", "int32", "int64", ">f4", ">f8", "longdouble")] + [
        ("column order", np.asfortranarray(base)), ("reversed", base[::-1][::-1]), ("padded", wide[:, 1:4]),
        ("every second column", np.repeat(base, 2, axis=1)[:, ::2]), ("read-only", _read_only(base)),
        ("lists", ROWS), ("memoryview", memoryview(base)), ("interface", WithInterface(base)), ("dlpack", WithDlpack(base)),
        ("dlpack float64", WithDlpack(base.astype(np.float64))), ("unaligned", _unaligned(base)),
    ]


def _read_only(values: np.ndarray) -> np.ndarray:
    values = values.copy()
    values.flags.writeable = False
    return values


def _unaligned(values: np.ndarray) -> np.ndarray:
    raw = np.zeros(values.nbytes + 1, np.uint8)
    raw[1:] = np.frombuffer(values.tobytes(), np.uint8)
    return raw[1:].view(np.float32).reshape(values.shape)


@pytest.mark.parametrize("values", [pytest.param(value, id=name) for name, value in forms()])
def test_every_form_of_the_same_rows(index, values):
    index.add(values)
    np.testing.assert_array_equal(index.get(range(4)), np.array(ROWS, np.float32))
    np.testing.assert_array_equal(index.search(values, k=1).ids[:, 0], range(4))


def test_one_dimension_is_one_row(index):
    index.add(array.array("f", [1, 2, 3]))
    index.add([4, 5, 6])
    index.add((7.0, 8, 9))
    np.testing.assert_array_equal(index.get(range(3)), np.array(ROWS[:3], np.float32))


@pytest.mark.parametrize("values", [
    np.zeros((2, 4), np.float32), np.zeros((2, 2), np.float64), np.zeros((1, 1, 3), np.float32), np.float32(3), 5,
    np.zeros((2, 3), np.complex64), np.array([["a", "b", "c"]]), np.zeros((2, 3), bool), None, object(), "abc", {},
    [[1, 2, 3], [1, 2]], np.zeros((2, 3), "datetime64[s]"),
], ids=repr)
def test_what_is_no_array_of_rows(index, values):
    with pytest.raises(vectis.InvalidInputError) as caught:
        index.add(values)
    assert "[add]" in str(caught.value) and caught.value.op == "add"
    with pytest.raises(vectis.InvalidInputError):
        index.search(values)
    assert len(index) == 0


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e300])
def test_values_that_are_not_finite(index, bad):
    rows = np.array(ROWS, np.float64)
    rows[2, 1] = bad
    with np.errstate(over="ignore"), pytest.raises(vectis.InvalidInputError, match="2"):
        index.add(rows)
    assert len(index) == 0


def test_copying_can_be_forbidden(index):
    rows = np.array(ROWS, np.float32)
    index.add(rows, copy=False)
    index.search(rows, copy=False)
    index.search(rows[:, :3], copy=False)
    for values in (rows.astype(np.float64), np.asfortranarray(rows), ROWS):
        with pytest.raises(vectis.InvalidInputError, match="copy=False"):
            index.add(values, copy=False)
        with pytest.raises(vectis.InvalidInputError, match="copy=False"):
            index.search(values, copy=False)


@pytest.mark.parametrize("ids", [[0.5, 1.5, 2.5, 3.5], [[1, 2, 3, 4]], "abcd", [1, 2, 3], [1, 1, 2, 3], [-1, 2, 3, 4],
                                 np.array([2**63, 1, 2, 3], np.uint64), [2**64, 1, 2, 3]], ids=repr)
def test_ids_that_are_none(index, ids):
    with pytest.raises(vectis.InvalidInputError):
        index.add(ROWS, ids=ids)
    assert len(index) == 0


@pytest.mark.parametrize("ids", [[5, 6, 7, 8], range(5, 9), np.arange(5, 9, dtype=np.uint8), (5, 6, 7, 8),
                                 np.arange(5, 9)[::-1][::-1], np.arange(10, 18, 2)[:] // 2], ids=repr)
def test_forms_of_ids(index, ids):
    assert index.add(ROWS, ids=ids).tolist() == [5, 6, 7, 8]
    largest = 2**63 - 1
    index.add([1, 1, 1], ids=[largest])
    assert largest in index and largest in list(index)
    assert index.search([1, 1, 1], k=1).ids.tolist() == [largest]


def test_arrow_arrays(index):
    arrow = pytest.importorskip("pyarrow")  # in the environment of CI
    values = np.array(ROWS, np.float32)
    for dtype in (np.float32, np.float16, np.float64, np.int8):
        column = arrow.FixedSizeListArray.from_arrays(arrow.array(values.astype(dtype).ravel()), 3)
        other = vectis.Index(dim=3)
        other.add(column)
        other.add(column.slice(1, 2), ids=arrow.array([100, 101]))
        np.testing.assert_array_equal(other.get([0, 1, 2, 3, 100, 101]), values[[0, 1, 2, 3, 1, 2]])
    with pytest.raises(vectis.InvalidInputError, match="null"):
        index.add(arrow.array([[1.0, 2.0, 3.0], None], arrow.list_(arrow.float32(), 3)))
    with pytest.raises(vectis.InvalidInputError, match="Arrow"):
        index.add(arrow.array([[1.0, 2.0, 3.0]], arrow.list_(arrow.float32())))
    with pytest.raises(vectis.InvalidInputError, match="Arrow"):
        index.add(arrow.array(["a", "b"]))


def test_the_array_may_go_after_the_call(index):
    holder = types.SimpleNamespace(rows=np.array(ROWS, np.float32))
    index.add(holder.rows)
    holder.rows[:] = 0
    del holder.rows
    np.testing.assert_array_equal(index.get(range(4)), np.array(ROWS, np.float32))


def test_converted_arrays_are_not_kept(index):
    index.add(np.array(ROWS, np.float32))
    for values in (np.array(ROWS, np.float64), np.asfortranarray(np.array(ROWS, np.float32)), array.array("d", ROWS[0])):
        before = sys.getrefcount(values)
        for _ in range(10):
            index.search(values)
        assert sys.getrefcount(values) == before
    growing = array.array("d", ROWS[0])
    index.search(growing)
    growing.append(1.0)  # fails while something holds its buffer


def test_empty_arrays(index):
    index.add(ROWS)
    assert index.search([], k=5).ids.shape == (0, 5)
    assert index.search(np.empty((0, 7)), k=5).ids.shape == (0, 5)
    with pytest.raises(vectis.InvalidInputError):
        index.search(np.empty((3, 0), np.float32))


def test_numpy_integers_are_ids(index):
    index.add(ROWS)
    found = index.search(ROWS[2], k=1).ids[0]
    np.testing.assert_array_equal(index.get(found), ROWS[2])
    assert index.remove(found) == 1 and index.remove(np.uint8(1)) == 1 and found not in index


def test_ids_end_at_the_largest_of_python(index):
    index.add(ROWS[:1], ids=[2**63 - 1])
    with pytest.raises(vectis.InvalidInputError, match="2\\^63"):
        index.add(ROWS[1:])
    assert list(index) == [2**63 - 1]


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, SystemExit])
def test_errors_of_an_array_that_are_not_about_arrays(index, error):
    class Raises:
        def __array__(self, *_: object, **__: object) -> None:
            raise error

    with pytest.raises(error):
        index.add(Raises())


def test_arrow_dictionaries_and_nulls_outside_of_a_slice(index):
    arrow = pytest.importorskip("pyarrow")
    index.add(ROWS, ids=[0, 1, 10, 20])
    with pytest.raises(vectis.InvalidInputError, match="dictionary"):
        index.remove(arrow.array([10, 20]).dictionary_encode())
    assert len(index) == 4
    values = arrow.array([None, 1.0, 2.0, 4.0, 5.0, 6.0], arrow.float32())
    column = arrow.FixedSizeListArray.from_arrays(values, 3)
    assert index.search(column.slice(1, 1), k=1).ids.tolist() == [[1]]
    with pytest.raises(vectis.InvalidInputError, match="null"):
        index.search(column)
