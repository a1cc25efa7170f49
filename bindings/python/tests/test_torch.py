"""Tensors of PyTorch as vectors and queries, exchanged by DLPack. `./dev soak python` has PyTorch; CI has not."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from oracle import distances

import vectis

torch = pytest.importorskip("torch")

ROWS, DIM, K = 100, 8, 5


@pytest.fixture
def vectors(rng) -> torch.Tensor:
    return torch.from_numpy(rng.standard_normal((ROWS, DIM), dtype=np.float32))


def made_of(vectors: torch.Tensor, **arguments: object) -> vectis.Index:
    index = vectis.Index(dim=DIM, kind="flat")
    index.add(vectors, **arguments)
    return index


def assert_answers(index: vectis.Index, queries: torch.Tensor, stored: np.ndarray, **arguments: object) -> None:
    """Compares a search by a tensor with NumPy."""
    found = index.search(queries, K, **arguments)
    expected = np.sort(distances(queries.detach().to(torch.float32).numpy(), stored, "l2"), axis=1)[:, :K]
    np.testing.assert_allclose(found.distances, expected, rtol=1e-12)


def test_float32_is_read_in_place(vectors):
    index = made_of(vectors, copy=False)
    assert_answers(index, vectors[:7], vectors.numpy(), copy=False)
    assert (index.get(range(ROWS)) == vectors.numpy()).all()


def test_rows_of_a_wider_tensor_are_read_in_place(vectors):
    wider = torch.cat([vectors, vectors], dim=1)
    assert_answers(made_of(wider[:, :DIM], copy=False), wider[3:9, DIM:], vectors.numpy(), copy=False)


def test_nothing_is_allocated_for_what_is_read_in_place():
    index, queries = vectis.Index(dim=DIM, kind="flat"), torch.ones((1 << 16, DIM))

    def peak_bytes(values: torch.Tensor) -> int:
        tracemalloc.start()  # counts the memory of NumPy's arrays too
        try:
            index.search(values, 1)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    size = queries.numpy().nbytes
    copied = peak_bytes(queries.to(torch.float64)) - peak_bytes(queries)
    assert copied == pytest.approx(size, abs=10_000)


@pytest.mark.parametrize("dtype", ["float16", "float64", "int8", "int32"])
def test_other_types_are_converted(vectors, dtype):
    other = (10 * vectors).to(getattr(torch, dtype))
    index = made_of(other)
    assert (index.get(range(ROWS)) == other.to(torch.float32).numpy()).all()
    assert_answers(index, other[:7], other.to(torch.float32).numpy())
    with pytest.raises(vectis.InvalidInputError, match="copy=False"):
        made_of(other, copy=False)


@pytest.mark.parametrize("view", [lambda x: x.T.contiguous().T, lambda x: x.repeat(2, 1)[::2], lambda x: x.flip(0)],
                         ids=["columns first", "every second row", "flipped"])
def test_layouts(vectors, view):
    other = view(vectors)
    assert (made_of(other).get(range(ROWS)) == other.numpy()).all()


def test_columns_first_must_be_copied(vectors):
    with pytest.raises(vectis.InvalidInputError, match="copy=False"):
        made_of(vectors.T.contiguous().T, copy=False)


def test_a_vector_is_one_row(vectors):
    assert made_of(vectors).search(vectors[5], 1).ids.tolist() == [5]


def test_tensors_are_ids(vectors):
    index = vectis.Index(dim=DIM)
    index.add(vectors, ids=torch.arange(1000, 1000 + ROWS))
    assert index.search(vectors[5], 1).ids.tolist() == [1005]
    assert index.remove(torch.tensor([1005, 1006])) == 2


@pytest.mark.parametrize("make, reason", [
    (lambda x: x.clone().requires_grad_(), "gradient"),
    (lambda x: x.to(torch.bfloat16), "bfloat16|dtype|type"),
    (lambda x: x.to("meta"), "meta|device"),
    (lambda x: x.to_sparse(), "sparse|layout"),
    (lambda x: torch.complex(x, x), "complex"),
], ids=["requires_grad", "bfloat16", "meta", "sparse", "complex"])
def test_tensors_that_cannot_be_read(vectors, make, reason):
    index = made_of(vectors)
    for call in (index.add, index.search):
        with pytest.raises(vectis.InvalidInputError, match=f"(?i){reason}"):
            call(make(vectors))
    assert len(index) == ROWS


def test_detached_tensors_are_read_in_place(vectors):
    parameter = torch.nn.Parameter(vectors.clone())
    assert_answers(made_of(parameter.detach(), copy=False), parameter.detach()[:3], vectors.numpy(), copy=False)


def test_answers_become_tensors_without_a_copy(vectors):
    found = made_of(vectors).search(vectors[:7], K)
    for convert in (torch.from_numpy, torch.from_dlpack):
        ids, distances = convert(found.ids), convert(found.distances)
        assert ids.dtype == torch.int64 and distances.dtype == torch.float64
        assert ids.data_ptr() == found.ids.ctypes.data and distances.data_ptr() == found.distances.ctypes.data
        assert torch.equal(vectors[ids[:, 0]], vectors[:7])


def test_the_tensor_may_go_after_the_call(vectors):
    kept = vectors.numpy().copy()
    index = made_of(vectors)
    vectors.zero_()
    del vectors
    assert (index.get(range(ROWS)) == kept).all()
