"""Custom kernels, arrays on devices and named operations. The oracle is NumPy."""

from __future__ import annotations

import array
import gc
import itertools
import threading

import numpy as np
import pytest
import vectis
from vectis import kernel

DEVICE = "opencl"
SQUARE = "uint i = GLOBAL_ID(0); if (i < count) { STORE_y(i, LOAD_x(i) * LOAD_x(i)); }"
AXPY = """
__kernel void axpy(__global const float* x, __global float* y, float a, int count) {
  int i = get_global_id(0);
  if (i < count) y[i] += a * x[i];
}
"""


@pytest.fixture(scope="module")
def square() -> kernel.Kernel:
    return kernel.Kernel("square", SQUARE, buffers={"x": "float32:read", "y": "float32:write"},
                         scalars={"count": "uint32"}, device=DEVICE)


@pytest.fixture(scope="module")
def axpy() -> kernel.Kernel:
    return kernel.Kernel.from_source("axpy", AXPY, device=DEVICE, work_group_size=32)


def test_portable_kernel(square, rng):
    x = rng.standard_normal(1000, dtype=np.float32)
    y = np.zeros_like(x)
    square.launch(x.size, x, y, x.size)
    np.testing.assert_array_equal(y, x * x)


def test_kernel_describes_itself(square):
    assert square.name == "square" and square.device.label == "opencl:0"
    assert square.work_group_size == (64, 1, 1) and square.source == SQUARE
    assert "vt_square" in square.text and isinstance(square.binary, bytes)
    assert "x: float32:read" in repr(square) and "&lt; count" in square._repr_html_()


def test_elements_that_the_kernel_leaves_keep_their_value(square):
    x, y = np.full(100, 3, np.float32), np.arange(100, dtype=np.float32)
    square.launch(10, x, y, 10)
    np.testing.assert_array_equal(y, np.r_[np.full(10, 9.0), np.arange(10, 100)])


@pytest.mark.parametrize("items", [64, (64,), [64, 1], (64, 1, 1), np.int64(64)])
def test_items(square, items):
    x, y = np.full(64, 2, np.float32), np.zeros(64, np.float32)
    square.launch(items, x, y, 64)
    assert (y == 4).all()


def test_no_items_launch_nothing(square):
    y = np.ones(4, np.float32)
    square.launch(0, y.copy(), y, 4)
    assert (y == 1).all()


def test_two_dimensions_and_shared_memory(rng):
    """Sums of the rows of a matrix, each by one group."""
    sums = kernel.Kernel(
        "row_sums", """
        uint row = GROUP_ID(0);
        uint item = LOCAL_ID(0);
        float sum = 0.0f;
        for (uint c = item; c < columns; c += ITEMS) { sum += LOAD_x(row * columns + c); }
        partial[item] = sum;
        BARRIER();
        if (item == 0u) {
          float total = 0.0f;
          for (uint i = 0u; i < ITEMS; i += 1u) { total += partial[i]; }
          STORE_sums(row, total);
        }""",
        buffers=[("x", "float32", "read"), ("sums", "float32", "write")], scalars={"columns": "uint32"},
        shared={"partial": ("float32", 16)}, defines={"ITEMS": "16u"}, work_group_size=16, device=DEVICE)
    x = rng.random((5, 100), dtype=np.float32)
    out = np.zeros(5, np.float32)
    sums.launch(5 * 16, x, out, 100)
    np.testing.assert_allclose(out, x.sum(axis=1), rtol=1e-5)


def test_element_types(rng):
    """Elements of 8 and 16 bits share words, of which the last one is not full here."""
    mixed = kernel.Kernel("mixed", """
        uint w = GLOBAL_ID(0);
        if (w * LANES_bytes >= count) { return; }
        uint word = OLD_WORD_bytes(w);
        for (uint lane = 0u; lane < LANES_bytes; lane++) {
          uint i = w * LANES_bytes + lane;
          if (i < count) {
            word = INSERT_bytes(word, lane, LOAD_wide(i));
            STORE_sum(i, LOAD_wide(i) + LOAD_old(i));
            STORE_product(i, LOAD_f16(i) * LOAD_bf16(i));
          }
        }
        STORE_WORD_bytes(w, word);""",
                          buffers={"wide": "int32", "old": "int8", "f16": "float16", "bf16": "bfloat16",
                                   "bytes": "int8:write", "sum": "int32:write", "product": "float32:write"},
                          scalars={"count": "uint32"}, device=DEVICE)
    count = 77
    wide, old = rng.integers(-100, 100, count).astype(np.int32), rng.integers(-100, 100, count).astype(np.int8)
    half = rng.standard_normal(count).astype(np.float16)
    brain = (rng.standard_normal(count).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)  # its bits
    narrow, total, product = np.zeros(count, np.int8), np.zeros(count, np.int32), np.zeros(count, np.float32)
    mixed.launch(-(-count // 4), wide, old, half, brain, narrow, total, product, count)
    np.testing.assert_array_equal(narrow, wide)
    np.testing.assert_array_equal(total, wide + old)
    np.testing.assert_array_equal(product, half.astype(np.float32) * (brain.astype(np.uint32) << 16).view(np.float32))


def test_scalars_of_every_type():
    scale = kernel.Kernel("scale", "uint i = GLOBAL_ID(0); if (i < count) { if (shift < 0) { STORE_y(i, factor); } }",
                          buffers={"y": "float32:write"},
                          scalars={"factor": "float32", "shift": "int32", "count": "uint32"}, device=DEVICE)
    for factor, shift, count in [(2.5, -1, 4), (np.float64(2.5), np.int8(-1), np.uint64(4)), (3, -2**31, 4)]:
        y = np.zeros(4, np.float32)
        scale.launch(4, y, factor, shift, count)
        assert (y == factor).all()


def test_raw_kernel(axpy, rng):
    x, y = rng.random((2, 500), dtype=np.float32)
    expected = y + np.float32(2.5) * x
    axpy.launch(500, x, y, 2.5, 500)
    np.testing.assert_allclose(y, expected, rtol=1e-6)
    assert axpy.text == AXPY and axpy.work_group_size == (32, 1, 1)


def test_raw_kernel_does_not_write_readonly_arrays(axpy):
    x, y = np.ones(8, np.float32), np.zeros(8, np.float32)
    x.flags.writeable = False
    axpy.launch(8, x, y, np.float32(1), np.int32(8))
    assert (y == 1).all() and (x == 1).all()
    axpy.launch(8, memoryview(x), y, 1.0, 8)
    assert (y == 2).all()


def test_raw_scalars_have_the_type_of_numpy():
    wide = kernel.Kernel.from_source("wide", """
        __kernel void wide(__global long* out, long a, ulong b, double c, uint d) {
          out[0] = a; out[1] = (long)(b >> 1); out[2] = (long)c; out[3] = d;
        }""", device=DEVICE, work_group_size=1)
    out = np.zeros(4, np.int64)
    wide.launch(1, out, np.int64(-2**40), np.uint64(2**63), np.float64(1e12), np.uint32(2**32 - 1))
    assert out.tolist() == [-2**40, 2**62, 10**12, 2**32 - 1]
    with pytest.raises(vectis.InvalidInputError, match="np.int64"):
        wide.launch(1, out, 2**40, np.uint64(1), np.float64(1), np.uint32(1))


def test_buffer_protocol_without_numpy(axpy):
    x, y = array.array("f", [1, 2, 3]), array.array("f", [10, 20, 30])
    axpy.launch(3, x, y, 1.0, 3)
    assert y.tolist() == [11, 22, 33]


def test_device_arrays_need_no_copies(square, rng):
    x = rng.random(256, dtype=np.float32)
    on_device, result = kernel.to_device(x, DEVICE), kernel.empty(256, "float32", DEVICE)
    square.launch(256, on_device, result, 256)
    square.launch(256, result, on_device, 256)
    np.testing.assert_array_equal(on_device.numpy(), (x * x) * (x * x))
    mixed = np.zeros_like(x)
    square.launch(256, result, mixed, 256)
    np.testing.assert_array_equal(mixed, on_device.numpy())


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int8", "uint8", "int32", "int64", "uint32",
                                   "bool", "complex64", "uint16"])
@pytest.mark.parametrize("shape", [(7,), (3, 5), (2, 3, 4), (), (0,), (0, 3)])
@pytest.mark.parametrize("device", ["cpu", DEVICE])
def test_round_trip(dtype, shape, device, rng):
    values = (rng.random(shape) * 100).astype(dtype)
    on_device = kernel.to_device(values, device)
    assert on_device.shape == shape and on_device.size == values.size and on_device.nbytes == values.nbytes
    assert on_device.ndim == values.ndim and on_device.device.backend == device
    again = on_device.numpy()
    assert again.dtype == values.dtype and again.flags.writeable
    np.testing.assert_array_equal(again, values)


def test_strided_arrays_are_copied(square):
    x = np.arange(40, dtype=np.float32).reshape(4, 10)
    np.testing.assert_array_equal(kernel.to_device(x[:, ::3], DEVICE).numpy(), x[:, ::3])
    np.testing.assert_array_equal(kernel.to_device(x.T, DEVICE).numpy(), x.T)
    y = np.zeros(20, np.float32)
    square.launch(20, x.ravel()[::2], y, 20)
    np.testing.assert_array_equal(y, x.ravel()[::2] ** 2)


def test_device_array_is_an_array():
    on_device = kernel.to_device(np.arange(4, dtype=np.float32), DEVICE)
    assert np.asarray(on_device).tolist() == [0, 1, 2, 3]
    assert np.asarray(on_device, dtype=np.int64).dtype == np.int64
    assert on_device.dtype == "float32" and "shape=(4,)" in repr(on_device)
    with pytest.raises(ValueError):
        on_device.__array__(copy=False)


def test_copy_from_replaces_the_elements():
    on_device = kernel.empty((2, 2), "int32", DEVICE)
    on_device.copy_from(np.array([[1, 2], [3, 4]], np.int32))
    assert on_device.numpy().tolist() == [[1, 2], [3, 4]]
    for wrong in (np.zeros((2, 2), np.float32), np.zeros(4, np.int32)):
        with pytest.raises(vectis.InvalidInputError):
            on_device.copy_from(wrong)
    assert on_device.numpy().tolist() == [[1, 2], [3, 4]]


def test_written_arrays_must_fit(square):
    x = np.ones(8, np.float32)
    readonly = np.ones(8, np.float32)
    readonly.flags.writeable = False
    wrong = {
        "writable": readonly,
        "contiguous": np.ones(16, np.float32)[::2],
        "of float32": np.ones(8, np.float64),
        "astype": np.ones(8, ">f4"),
        "buffer protocol": [1.0] * 8,
    }
    for message, y in wrong.items():
        with pytest.raises(vectis.InvalidInputError, match=message):
            square.launch(8, x, y, 8)
    square.launch(8, readonly, x, 8)  # what is only read may be read-only


@pytest.mark.parametrize("arguments", [
    lambda x: (x, x.copy()),
    lambda x: (x, x.copy(), 8, 9),
    lambda x: (x, 8, x),
    lambda x: (x, x.copy(), 1.5),
    lambda x: (x, x.copy(), "8"),
    lambda x: (x, x.copy(), -1),
    lambda x: (x, x.copy(), 2**32),
    lambda x: (x, x.copy(), 2**80),
    lambda x: (x, x.astype(np.int32), 8),
    lambda x: (x, kernel.empty(8, "int32", DEVICE), 8),
    lambda x: (x, kernel.empty(8, "float32", "cpu"), 8),
    lambda x: (None, x, 8),
])
def test_wrong_arguments_change_nothing(square, arguments):
    x = np.full(8, 3, np.float32)
    with pytest.raises(vectis.InvalidInputError):
        square.launch(8, *arguments(x))
    assert (x == 3).all()
    y = np.zeros(8, np.float32)
    square.launch(8, x, y, 8)
    assert (y == 9).all()


@pytest.mark.parametrize("items", [-1, 1.5, "8", None, (), (1, 2, 3, 4), (-1,)])
def test_wrong_items(square, items):
    x = np.ones(8, np.float32)
    with pytest.raises((TypeError, vectis.InvalidInputError)):
        square.launch(items, x, x.copy(), 8)


def test_compile_errors_name_the_line():
    with pytest.raises(vectis.CompileFailedError, match="line 2") as raised:
        kernel.Kernel.from_source("broken", "__kernel void broken(__global float* x) {\n  x[0] = nothing;\n}",
                                  device=DEVICE)
    assert "nothing" in raised.value.detail
    with pytest.raises(vectis.InvalidInputError):
        kernel.Kernel.from_source("other", AXPY, device=DEVICE)
    with pytest.raises(vectis.InvalidInputError):
        kernel.Kernel("pointer", "float* p;", buffers={"x": "float32:read_write"}, device=DEVICE)


@pytest.mark.parametrize("wrong", [
    {"buffers": {"x": "float31:read"}},
    {"buffers": {"x": "float32:modify"}},
    {"buffers": {"x": "float64:read"}},
    {"buffers": {"x": 5}},
    {"buffers": {1: "float32"}},
    {"buffers": [("x", "float32")]},
    {"buffers": {"x y": "float32"}},
    {"buffers": {}, "scalars": {"a": "int8"}},
    {"buffers": {}, "scalars": {"a": None}},
    {"buffers": {}, "shared": {"a": "float32"}},
    {"buffers": {}, "shared": {"a": ("float32", 0)}},
    {"buffers": {"x": "float32:write"}, "work_group_size": 0},
    {"buffers": {"x": "float32:write"}, "work_group_size": (1, 2, 3, 4)},
    {"buffers": {"x": "float32:write"}, "work_group_size": 2**40},
])
def test_wrong_declarations(wrong):
    with pytest.raises(vectis.InvalidInputError):
        kernel.Kernel("wrong", "", **{"device": DEVICE, **wrong})


def test_cpu_compiles_no_kernels():
    with pytest.raises(vectis.NoCompilerError):
        kernel.Kernel("square", SQUARE, buffers={"x": "float32", "y": "float32:write"}, scalars={"count": "uint32"},
                      device="cpu")
    with pytest.raises(vectis.NoCompilerError):
        kernel.Kernel.from_source("axpy", AXPY, device="cpu")
    with pytest.raises(vectis.UnsupportedBackendError):
        kernel.Kernel.from_source("axpy", AXPY, device="nothing")


@pytest.mark.parametrize("wrong", ["text", [1, 2], 5, np.zeros(3, np.uint64), np.array(["a"]), np.array([None])])
def test_to_device_takes_arrays_only(wrong):
    with pytest.raises(vectis.InvalidInputError):
        kernel.to_device(wrong, DEVICE)


def test_empty_rejects_bad_shapes():
    with pytest.raises(vectis.InvalidInputError):
        kernel.empty((2**40, 2**40), "float32", DEVICE)
    with pytest.raises(vectis.InvalidInputError):
        kernel.empty(3, "float31", DEVICE)
    with pytest.raises(TypeError):
        kernel.empty(-3, "float32", DEVICE)
    with pytest.raises(vectis.Error):
        kernel.empty(2**50, "float32", DEVICE)


def test_objects_may_be_dropped_in_every_order():
    def make():
        made = kernel.Kernel("square", SQUARE, buffers={"x": "float32:read", "y": "float32:write"},
                             scalars={"count": "uint32"}, device=DEVICE)
        return {"kernel": made, "x": kernel.to_device(np.ones(4, np.float32), DEVICE),
                "y": kernel.empty(4, "float32", DEVICE), "device": made.device}

    gc.collect()
    before = vectis.memory.stats(DEVICE).live_buffers
    for order in itertools.permutations(["kernel", "x", "y", "device"]):
        made = make()
        made["kernel"].launch(4, made["x"], made["y"], 4)
        for name in order:
            del made[name]
            if "y" in made:
                assert made["y"].numpy().tolist() == [1, 1, 1, 1]
    gc.collect()
    assert vectis.memory.stats(DEVICE).live_buffers == before


def test_failed_launch_frees_its_memory(axpy):
    before = vectis.memory.stats(DEVICE).live_buffers
    for _ in range(3):
        with pytest.raises(vectis.Error):
            axpy.launch((1, 2**40), np.ones(8, np.float32), np.ones(8, np.float32), 1.0, 8)
    assert vectis.memory.stats(DEVICE).live_buffers == before


def test_threads_launch_at_the_same_time(square, rng):
    x = rng.random(20_000, dtype=np.float32)
    failures = []

    def work(factor: float) -> None:
        try:
            for _ in range(10):
                y = np.zeros_like(x)
                square.launch(x.size, x * np.float32(factor), y, x.size)
                np.testing.assert_array_equal(y, (x * np.float32(factor)) ** 2)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(factor,)) for factor in range(1, 7)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_objects_keep_their_threads_and_devices(square):
    x, y = kernel.to_device(np.full(4, 3, np.float32), DEVICE), kernel.empty(4, "float32", DEVICE)
    vectis.set_threads(2)
    try:
        square.launch(4, x, y, 4)
        assert y.numpy().tolist() == [9] * 4
        other = kernel.empty(4, "float32", DEVICE)
        assert other.device.label == y.device.label and other.device != y.device
        with pytest.raises(vectis.InvalidInputError):
            square.launch(4, x, other, 4)
    finally:
        vectis.set_threads(0)
    assert kernel.empty(4, "float32", DEVICE).device == y.device


def test_operations_are_listed():
    operations = {operation.name: operation for operation in kernel.operations()}
    assert list(operations) == sorted(operations)
    matmul = operations["matmul"]
    assert len(matmul.operands) == 3 and any("alpha" in parameter for parameter in matmul.parameters)
    assert matmul.summary and "matmul" in repr(matmul) and "alpha" in matmul._repr_html_()
    del operations
    gc.collect()
    assert matmul.name == "matmul"


@pytest.mark.parametrize("device", ["cpu", DEVICE])
def test_matmul(device, rng):
    a, b = rng.standard_normal((7, 5), dtype=np.float32), rng.standard_normal((9, 5), dtype=np.float32)
    c = rng.standard_normal((7, 9), dtype=np.float32)
    expected = 0.5 * a @ b.T + 2 * c
    kernel.run("matmul", a, b, c, device=device, transpose_b=1, alpha=0.5, beta=2)
    np.testing.assert_allclose(c, expected, rtol=1e-4, atol=1e-5)


def test_operations_run_on_the_device_of_their_arrays(rng):
    x = rng.random((4, 6), dtype=np.float32)
    on_device, sums = kernel.to_device(x, DEVICE), kernel.empty((4, 1), "float32", DEVICE)
    with vectis.profile() as profile:
        kernel.run("sum_rows", on_device, sums)
    np.testing.assert_allclose(sums.numpy()[:, 0], x.sum(axis=1), rtol=1e-6)
    assert {row.device for row in profile.rows()} == {"opencl:0"}


@pytest.mark.parametrize("call", [
    lambda x: kernel.run("no_such_operation", x),
    lambda x: kernel.run("sum", x),
    lambda x: kernel.run("sum", x, x.copy(), x.copy()),
    lambda x: kernel.run("sum", x, np.zeros((1, 1), np.float64)),
    lambda x: kernel.run("sum", x, np.zeros((2, 2), np.float32)),
    lambda x: kernel.run("fill", x, amount=3),
    lambda x: kernel.run("fill", x, value="3"),
    lambda x: kernel.run("fill", np.zeros((2, 2, 2), np.float32)),
    lambda x: kernel.run("prefix_sum", x, x.copy(), exclusive=0.5),
    lambda x: kernel.run("prefix_sum", x, x.copy(), exclusive=2),
    lambda x: kernel.run("copy", x, kernel.empty((2, 2), "float32", DEVICE), device="cpu"),
])
def test_wrong_operations(call):
    x = np.ones((2, 2), np.float32)
    with pytest.raises(vectis.InvalidInputError):
        call(x)
    assert (x == 1).all()


def test_rows_of_one_dimension():
    x, out = np.arange(5, dtype=np.float32), np.zeros(1, np.float32)
    kernel.run("sum", x, out, device="cpu")
    assert out[0] == 10
