"""Arrays beside NumPy and other libraries: memory and its lifetime, NumPy's protocols, pickling, threads, Ctrl-C."""

from __future__ import annotations

import copy
import gc
import itertools
import pickle
import signal
import subprocess
import sys
import threading
import time
import weakref
from typing import Any

import numpy as np
import pytest

import vectis
import vectis.array as xp

TYPES = ("float32", "float64", "float16", "int8", "uint8", "int32", "int64", "bool")


def test_numpy_arrays_share_memory_and_are_read_only() -> None:
    x = xp.arange(1000) * 2
    first, second = np.asarray(x), np.asarray(x)
    assert np.shares_memory(first, second) and not first.flags.writeable
    copied = np.array(x)
    assert copied.flags.writeable and not np.shares_memory(first, copied)
    assert np.asarray(x, dtype=np.float64).dtype == np.float64
    for convert in (lambda: np.asarray(x, dtype=np.float64, copy=False), lambda: np.asarray(xp.ones(2, dtype="bfloat16"), copy=False)):
        with pytest.raises(ValueError, match="copy=False"):
            convert()
    assert np.asarray(x, dtype=np.int32, copy=False).sum() == 999_000
    assert np.asarray(x[::-3]).strides == (-12,)
    assert np.array_equal(np.asarray(x.reshape(10, 100).T), first.reshape(10, 100).T)


def test_asarray_copies_unless_sharing_is_wanted() -> None:
    memory = np.arange(6.0).reshape(2, 3)
    copied, shared = xp.asarray(memory), xp.asarray(memory, copy=False)
    memory[0, 0] = 99
    assert copied[0, 0].item() == 0 and shared[0, 0].item() == 99
    for bad in (memory.astype(np.int16), [1, 2], 3):
        with pytest.raises(vectis.InvalidInputError):
            xp.asarray(bad, copy=False)
    with pytest.raises(vectis.InvalidInputError, match="copy=False"):
        xp.asarray(memory, dtype=xp.float32, copy=False)
    assert xp.asarray(memory.astype(">f8"), dtype=xp.float64)[1, 2].item() == 5
    with pytest.raises(vectis.InvalidInputError):
        xp.asarray(memory.astype(">f8"))
    unaligned = np.frombuffer(b"\0" + np.arange(3.0).tobytes(), np.uint8)[1:].view(np.float64)
    fields = np.zeros(3, [("a", np.int8), ("b", np.float64)])
    fields["b"] = [0, 1, 2]
    for array, dtype in ((unaligned, None), (fields["b"], None), (memory.astype(">f8"), xp.float64), (np.arange(3, dtype=np.uint16), xp.int32)):
        assert xp.asarray(array, dtype=dtype).tolist() == array.tolist()
        with pytest.raises(ValueError, match="copy=False"):
            xp.asarray(array, dtype=dtype, copy=False)
    assert xp.asarray(memory[::-1, ::2], copy=False).tolist() == memory[::-1, ::2].tolist()


class Capsule:
    """Gives a capsule away."""

    def __init__(self, capsule: Any) -> None:
        self.capsule = capsule

    def __dlpack__(self, **_: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


@pytest.mark.parametrize("dtype", TYPES)
def test_dlpack_both_ways(dtype: str) -> None:
    memory = np.arange(24).reshape(4, 6).astype(dtype)[::2, ::-1]
    x = xp.from_dlpack(memory)
    assert x.dtype.name == dtype and np.shares_memory(np.asarray(x), memory)
    back = np.from_dlpack(x)
    assert np.array_equal(back, memory) and np.shares_memory(back, memory) and not back.flags.writeable
    assert not np.shares_memory(np.asarray(xp.from_dlpack(memory, copy=True)), memory)
    assert np.from_dlpack(x, copy=True).flags.writeable
    assert x.__dlpack_device__() == (1, 0) and xp.from_dlpack(x).tolist() == x.tolist()


def test_dlpack_capsules() -> None:
    x = xp.arange(3)
    assert "dltensor_versioned" in repr(x.__dlpack__(max_version=(1, 0)))
    assert "dltensor_versioned" not in repr(x.__dlpack__())
    for _ in range(100):
        x.__dlpack__(max_version=(1, 1))  # never consumed
    with pytest.raises(BufferError, match="read-only"):
        x.__dlpack__(copy=False)
    for options in ({}, {"max_version": (0, 8)}, {"max_version": (1, 0), "copy": True}):
        writable = np.from_dlpack(Capsule(x.__dlpack__(**options)))
        assert writable.tolist() == [0, 1, 2]
        assert not np.shares_memory(writable, np.asarray(x))
    for bad in (np.ones(2, np.int16), np.ones(2, complex), 3, object()):
        with pytest.raises(vectis.InvalidInputError):
            xp.from_dlpack(bad)
    with pytest.raises(BufferError):
        x.__dlpack__(dl_device=(2, 0))
    with pytest.raises(vectis.InvalidInputError):
        x.__dlpack__(stream=1)


@pytest.mark.parametrize("order", itertools.permutations(range(3)))
def test_memory_lives_as_long_as_its_last_user(order: tuple[int, ...]) -> None:
    memory = np.arange(1000, dtype=np.float32)
    watched = weakref.ref(memory)
    array = xp.from_dlpack(memory)
    users: list[Any] = [memory, array, np.asarray(array)]
    del memory, array
    for position, user in enumerate(order):
        users[user] = None
        gc.collect()
        assert (watched() is None) == (position == 2)
        assert all(np.asarray(left).sum() == 499500 for left in users if left is not None)


def test_views_and_pending_work_keep_memory() -> None:
    memory = np.arange(1000, dtype=np.float32)
    watched = weakref.ref(memory)
    pending = xp.from_dlpack(memory)[::2] + 1
    del memory
    gc.collect()
    assert watched() is not None
    assert pending.eval()[1].item() == 3
    gc.collect()
    assert watched() is None


def test_views_of_numpy_outlive_the_array() -> None:
    views = [np.asarray(xp.full(50_000, float(i)) + 0) for i in range(20)]
    gc.collect()
    assert [view.sum() for view in views] == [50_000 * i for i in range(20)]


@pytest.mark.parametrize("dtype", [*TYPES, "bfloat16"])
@pytest.mark.parametrize("protocol", range(2, 6))
def test_pickling(dtype: str, protocol: int) -> None:
    x = (xp.arange(24).reshape(2, 3, 4) - 5).astype(dtype)[..., ::-2]
    for made in (pickle.loads(pickle.dumps(x, protocol)), copy.copy(x), copy.deepcopy(x)):
        assert made.dtype == x.dtype and made.tolist() == x.tolist()
        made[0] = 0
        assert x.tolist() != made.tolist() or dtype == "bool"
    assert pickle.loads(pickle.dumps(xp.float16)) is xp.float16


def test_numpy_functions_return_our_arrays(rng: np.random.Generator) -> None:
    memory = rng.random((3, 4))
    x = xp.asarray(memory)
    for call in (np.tanh, np.mean, np.transpose, np.sort, np.cumsum, np.ravel, np.absolute, np.squeeze, np.argmax,
                 lambda a: np.add(a, 1), lambda a: np.add(1, a), lambda a: np.concatenate([a, a], axis=1),
                 lambda a: np.stack([a, a]), lambda a: np.where(a > 0.5, a, 0), lambda a: np.std(a, axis=0, ddof=1),
                 lambda a: np.sum(a, axis=(0, 1), keepdims=True), lambda a: np.reshape(a, (4, 3)), lambda a: np.dot(a, a.T),
                 lambda a: np.maximum(a, memory), lambda a: np.float64(2) * a, lambda a: memory @ a.T,
                 lambda a: np.broadcast_to(a, (2, 3, 4)), lambda a: np.take(a, [0, 2], axis=1), lambda a: np.clip(a, 0.2, 0.5)):
        result = call(x)
        assert isinstance(result, xp.Array)
        np.testing.assert_allclose(np.asarray(result), call(memory), rtol=1e-12)
    assert np.allclose(x, memory) and not np.allclose(x, memory + 1) and np.array_equal(x, memory)
    assert np.shape(x) == (3, 4)
    for missing in (lambda: np.add.reduce(x), lambda: np.kron(x, x), lambda: np.add(x, x, out=memory), lambda: np.spacing(x)):
        with pytest.raises(TypeError):
            missing()


def test_vectors_of_an_index_may_be_arrays() -> None:
    index = vectis.Index(dim=4)
    index.add(xp.eye(4))
    assert index.search(xp.eye(4)[2], k=1).ids.tolist() == [2]


def test_device_and_namespace() -> None:
    x = xp.ones(3)
    assert x.device.backend == "cpu" and x.to_device(x.device).tolist() == [1, 1, 1] and x.to_device("cpu").size == 3
    assert x.__array_namespace__() is xp and x.__array_namespace__(api_version="2023.12") is xp
    with pytest.raises(vectis.InvalidInputError):
        x.__array_namespace__(api_version="2999.12")
    info = xp.__array_namespace_info__()
    assert info.dtypes(kind="integral").keys() == {"int8", "uint8", "int32", "int64"}
    assert info.default_dtypes()["real floating"] == x.dtype and info.devices()


def run_threads(count: int, work: Any) -> None:
    failures: list[BaseException] = []

    def guarded(number: int) -> None:
        try:
            work(number)
        except BaseException as error:  # noqa: BLE001
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_threads_share_arrays_and_replace_elements() -> None:
    shared = xp.ones((64, 64))
    pending = [xp.tanh(shared @ shared / 64 + i) for i in range(20)]

    def work(number: int) -> None:
        for i in range(50):
            shared[number] = 1.0  # the same value, so that all results are known
            assert abs(float(xp.mean(pending[i % 20])) - np.tanh(1 + i % 20)) < 1e-5
            _, gradient = vectis.value_and_grad(lambda w: xp.sum(w * w))(xp.full(8, float(i)))
            assert gradient.tolist() == [2.0 * i] * 8

    run_threads(4, work)
    assert shared.tolist() == np.ones((64, 64)).tolist()


def test_other_threads_run_while_an_array_is_computed() -> None:
    x = xp.Generator(1).normal((1200, 1200)).eval()
    y = x.astype(xp.float64)
    for _ in range(3):
        y = y @ y / 1000
    ticks, done = [], threading.Event()

    def tick() -> None:
        while not done.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    begin = time.perf_counter()
    y.eval()
    end = time.perf_counter()
    done.set()
    thread.join()
    assert len([tick for tick in ticks if begin < tick < end]) > (end - begin) / 0.001 / 20


@pytest.mark.parametrize("how", ["y.eval()", "np.asarray(y)", "float(xp.sum(y))"])
def test_interrupt_ends_an_evaluation(how: str) -> None:
    program = f"""
import os, signal, threading, time
import numpy as np
import vectis.array as xp
y = x = xp.ones((600, 600), dtype=xp.float64).eval()
for _ in range(400):
    y = x @ y / 600
timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
timer.start()
begin = time.perf_counter()
try:
    {how}
    print("not interrupted", time.perf_counter() - begin)
except KeyboardInterrupt:
    print("interrupted")
print(xp.ones(2).tolist())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False,
                          preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
    assert done.stdout.splitlines() == ["interrupted", "[1.0, 1.0]"], done.stdout + done.stderr


def test_signal_handlers_may_use_arrays() -> None:
    program = """
import signal
import numpy as np
import vectis.array as xp
y = x = xp.ones((600, 600), dtype=xp.float64).eval()
for _ in range(400):
    y = x @ y / 600
def handle(*_):
    print(float(xp.sum(xp.ones(3))), flush=True)
    float(y[0, 0])
signal.signal(signal.SIGALRM, handle)
signal.setitimer(signal.ITIMER_REAL, 0.1)  # the evaluation takes seconds
try:
    y.eval()
except ValueError as error:
    print("after the evaluation" in str(error), flush=True)
print(float(y[0, 0]))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout.splitlines() == ["3.0", "True", "1.0"], done.stdout + done.stderr


def test_items_keep_double_precision() -> None:
    x = xp.zeros(4, dtype=xp.float64)
    x[0] = 0.1
    x[1:3] = [0.2, np.float64(0.3)]
    x[np.array([False, False, False, True])] = 0.4
    assert x.tolist() == [0.1, 0.2, 0.3, 0.4]
    whole = xp.zeros(2, dtype=xp.int64)
    whole[:] = [2.0**53, 123456789.0]
    assert whole.tolist() == [2**53, 123456789]


def test_long_chains_of_operations() -> None:
    x = xp.ones(4)
    for _ in range(20_000):
        x = x + 1
    assert x.tolist() == [20_001] * 4
    chain = x
    for _ in range(900):
        chain = chain[::-1]
    del chain
