"""Safetensors files, compared with the package `safetensors`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors import SafetensorError, TensorSpec, serialize
from safetensors.numpy import load, save

import vectis
import vectis.array as xp
import vectis.nn as nn

TYPES = ("float32", "float16", "float64", "int8", "uint8", "int32", "int64", "bool")


def arrays_of(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Arrays of all types NumPy has, with names whose order is not that of the file."""
    arrays = {f"{name}.{type_name}": (rng.integers(0, 2, shape) if type_name == "bool" else rng.normal(size=shape) * 50)
              .astype(np.uint8 if type_name == "uint8" else type_name)
              for type_name in TYPES for name, shape in (("z", (2, 3)), ("A", ()), ("ä\"\\\n", (0, 4)), ("a", (3, 1, 2)))}
    return {name: np.asarray(value) for name, value in sorted(arrays.items(), key=lambda _: rng.random())}


def file_of(header: object, data: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


@pytest.mark.filterwarnings("ignore:invalid value encountered in cast")
@pytest.mark.parametrize("metadata", [None, {"format": "np"}, {"ä \"\n\x01": "ü/\\\t\x7f"}])
def test_writes_the_bytes_of_the_package(tmp_path: Path, rng: np.random.Generator, metadata: dict[str, str] | None) -> None:
    path = tmp_path / "a.safetensors"
    arrays = arrays_of(rng)
    nn.save_safetensors(path, arrays, metadata=metadata)
    assert path.read_bytes() == save(arrays, metadata=metadata)


@pytest.mark.filterwarnings("ignore:invalid value encountered in cast")
def test_reads_what_the_package_writes(tmp_path: Path, rng: np.random.Generator) -> None:
    path = tmp_path / "a.safetensors"
    arrays = arrays_of(rng)
    path.write_bytes(save(arrays, metadata={"format": "np", "note": "ä"}))
    state, metadata = nn.read_safetensors(path)
    assert metadata == {"format": "np", "note": "ä"}
    assert state.keys() == arrays.keys()
    for name, array in nn.load_safetensors(path).items():
        assert np.asarray(array).dtype == arrays[name].dtype and np.array_equal(np.asarray(array), arrays[name]), name


def test_bfloat16(tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    bits = np.array([0x3F80, 0xC000], np.uint16)
    spec = TensorSpec(dtype="bfloat16", shape=bits.shape, data_ptr=bits.ctypes.data, data_len=bits.nbytes)
    path.write_bytes(bytes(serialize({"x": spec})))
    written = path.read_bytes()
    x = nn.load_safetensors(path)["x"]
    assert x.dtype == xp.bfloat16 and np.asarray(x.astype(xp.float32)).tolist() == [1, -2]
    nn.save_safetensors(path, {"x": x})
    assert path.read_bytes() == written


def test_modules(tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    model, other = nn.Dense(3, 2), nn.Dense(3, 2, random=nn.Generator(7))
    nn.save_safetensors(path, model.state_dict())
    other.load_state_dict(nn.load_safetensors(path))
    assert np.array_equal(np.asarray(other.weight), np.asarray(model.weight))
    assert set(load(path.read_bytes())) == {"weight", "bias"}


HOSTILE = {
    "nothing": b"",
    "a long header": (2**40).to_bytes(8, "little") + b"{}",
    "no header": file_of(b""),
    "no JSON": file_of(b"{"),
    "no object": file_of([]),
    "a duplicate key": file_of(b'{"a":{"dtype":"U8","dtype":"U8","shape":[0],"data_offsets":[0,0]}}'),
    "no UTF-8": file_of(b'{"\xff":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}'),
    "NUL": file_of(b"{}\0"),
    "a fraction": file_of({"a": {"dtype": "U8", "shape": [1.0], "data_offsets": [0, 1]}}, b"a"),
    "a negative zero": file_of(b'{"a":{"dtype":"U8","shape":[-0],"data_offsets":[0,0]}}'),
    "a negative extent": file_of({"a": {"dtype": "U8", "shape": [-1], "data_offsets": [0, 1]}}, b"a"),
    "a large product": file_of({"a": {"dtype": "U8", "shape": [2**33, 2**33], "data_offsets": [0, 1]}}, b"a"),
    "other bytes": file_of({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 3]}}, b"abc"),
    "a gap": file_of({"a": {"dtype": "U8", "shape": [1], "data_offsets": [1, 2]}}, b"ab"),
    "an end before the begin": file_of({"a": {"dtype": "U8", "shape": [1], "data_offsets": [1, 0]}}, b"a"),
    "data after the end": file_of({"a": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]}}, b"ab"),
    "an overlap": file_of({"a": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]},
                           "b": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]}}, b"a"),
    "a missing key": file_of({"a": {"dtype": "U8", "shape": [1]}}, b"a"),
    "metadata that are no texts": file_of({"__metadata__": {"a": 1}}),
}


@pytest.mark.parametrize("file", HOSTILE.values(), ids=HOSTILE.keys())
def test_refuses_what_the_package_refuses(tmp_path: Path, file: bytes) -> None:
    path = tmp_path / "hostile.safetensors"
    path.write_bytes(file)
    with pytest.raises(SafetensorError):
        load(file)
    with pytest.raises(vectis.CorruptDataError, match="hostile.safetensors: "):
        nn.load_safetensors(path)


def test_refuses_types_that_arrays_do_not_have(tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    path.write_bytes(save({"a": np.zeros(2, np.uint16)}))
    with pytest.raises(vectis.UnsupportedError, match="the tensor 'a' has the element type 'U16'"):
        nn.load_safetensors(path)


def test_arguments(tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    for state, metadata, message in (({"": np.zeros(1)}, {}, "'' cannot be the name"),
                                     ({"__metadata__": np.zeros(1)}, {}, "'__metadata__' cannot be the name"),
                                     ({"\udc80": np.zeros(1)}, {}, r"the name \\udc80 contains surrogates"),
                                     ({1: np.zeros(1)}, {}, "arrays by name, not Array by int"),
                                     ({}, {"a": 1}, "texts by name, not int by str"),
                                     ({}, {"a": "\udc80"}, "the text a contains surrogates")):
        with pytest.raises(vectis.InvalidInputError, match=message):
            nn.save_safetensors(path, state, metadata)  # type: ignore[arg-type]
    assert not path.exists()
    with pytest.raises(vectis.IoError):
        nn.load_safetensors(path)
