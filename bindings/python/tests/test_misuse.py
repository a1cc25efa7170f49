"""Misuse that reviews found: races, forks, overlapping arrays, text that is not UTF-8, broken terminals, bad numbers."""

from __future__ import annotations

import asyncio
import contextvars
import io
import json
import os
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable

import numpy as np
import pytest
import vectis
from vectis import kernel, memory, plan

DEVICE = "opencl"
SECONDS = float(os.environ.get("VECTIS_TEST_SECONDS", "2"))  # of what races


def run_script(script: str, *arguments: str, seconds: float = 60, **environment: str) -> str:
    """Runs a script in a process of its own, which must end: deadlocks and crashes are failures of one test."""
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script), *arguments], timeout=seconds, check=False,
                          capture_output=True, text=True, errors="backslashreplace", env={**os.environ, **environment})
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


# Locks and the GIL.

@pytest.mark.parametrize("call", ["vectis.reset_active_device()", "vectis.Index(dim=2, precision='fp16')",
                                  "store.create_collection('a', dim=2).metadata(), store.drop_collection('a')"])
def test_calls_beside_the_discovery_of_devices(call):
    run_script(f"""
        import faulthandler, logging, sys, threading
        import vectis
        faulthandler.dump_traceback_later(20, exit=True)
        logging.getLogger("vectis").addHandler(logging.NullHandler())
        logging.getLogger("vectis").setLevel(1)
        sys.setswitchinterval(1e-5)
        store = vectis.VectorStore()
        thread = threading.Thread(target=vectis.devices)   # logs to Python while the runtime's services are locked
        thread.start()
        while thread.is_alive():
            {call}
    """)


def in_fork(work: Callable[[], object], seconds: float = 10) -> str:
    """Returns the name of the exception that `work` raises in a forked child, or "hangs"."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            work()
            os.write(write, b"nothing")
        except BaseException as error:
            os.write(write, type(error).__name__.encode())
        finally:
            os._exit(0)
    os.close(write)
    end = time.monotonic() + seconds
    while not os.waitpid(child, os.WNOHANG)[0]:
        if time.monotonic() > end:
            os.kill(child, 9)
            os.waitpid(child, 0)
            os.close(read)
            return "hangs"
        time.sleep(0.001)
    with os.fdopen(read, "rb") as pipe:
        return pipe.read().decode()


def test_forked_children_cannot_run_kernels():
    array = kernel.to_device(np.arange(10, dtype=np.float32), "cpu")
    profile = vectis.profile()
    done = threading.Event()

    def launch() -> None:
        target = kernel.empty(10, "float32", "cpu")
        while not done.is_set():
            kernel.run("fill", target, value=1.0)

    threads = [threading.Thread(target=launch) for _ in range(4)]
    for thread in threads:
        thread.start()
    try:
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            assert in_fork(lambda: kernel.run("fill", array, value=2.0)) == "ForkedError"
            assert in_fork(array.numpy) == "ForkedError"
            assert in_fork(lambda: kernel.to_device(np.ones(3, np.float32), "cpu")) == "ForkedError"
            assert in_fork(profile.rows) == "ForkedError"
            assert in_fork(profile.__enter__) == "ForkedError"
    finally:
        done.set()
        for thread in threads:
            thread.join()
    assert array.numpy().tolist() == list(range(10))


# Memory scopes.

def test_threads_that_share_a_scope():
    run_script("""
        import sys, threading, time
        import vectis
        from vectis import memory
        sys.setswitchinterval(1e-6)
        scope = memory.scope("shared", "opencl")
        end = time.monotonic() + float(sys.argv[1])

        def use():
            while time.monotonic() < end:
                try:
                    scope.__enter__()
                except vectis.InvalidInputError:
                    pass
                scope.__exit__()
                assert scope.live_bytes == scope.peak_bytes == 0

        threads = [threading.Thread(target=use) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        scope.__exit__()
        with scope:
            pass
    """, str(SECONDS))


def tags_of_live_blocks() -> set[str]:
    return {block.tag for block in memory.snapshot(DEVICE).blocks if block.state == "live"}


def test_scope_left_in_another_context():
    outer = memory.scope("outer-context", DEVICE)
    with outer:
        scope = memory.scope("other-context", DEVICE)
        scope.__enter__()
        contextvars.copy_context().run(scope.__exit__)
        array = kernel.empty(10, "float32", DEVICE)
        assert "other-context" not in tags_of_live_blocks() and outer.live_bytes == 40
        with scope:  # can be entered again
            assert scope.live_bytes == 0
    del array


def test_scopes_left_in_the_wrong_order():
    first, second = memory.scope("first-left", DEVICE), memory.scope("second-left", DEVICE)
    first.__enter__()
    second.__enter__()
    first.__exit__()
    array = kernel.empty(10, "float32", DEVICE)
    assert second.live_bytes == 40
    second.__exit__()
    other = kernel.empty(20, "float32", DEVICE)
    assert (first.live_bytes, second.live_bytes) == (0, 40)
    assert {tag.tag: tag.live_bytes for tag in memory.stats(DEVICE).tags}.get("first-left", 0) == 0
    del array, other


def test_scope_rejects_tags_with_nul():
    for tag in ("a\0b", "\0"):
        with pytest.raises(vectis.InvalidInputError, match="NUL"):
            memory.scope(tag, DEVICE)


def test_asynchronous_calls_have_the_context_of_their_task():
    class Source:
        """Vectors that are computed on a device when they are read."""

        def __array__(self, dtype: object = None, copy: bool | None = None) -> np.ndarray:
            return kernel.to_device(np.eye(4, dtype=np.float32), DEVICE).numpy()

    async def add() -> memory.scope:
        with memory.scope("asynchronous", DEVICE) as scope:
            await vectis.Index(dim=4).aadd(Source())
        return scope

    assert asyncio.run(add()).peak_bytes == 64


# Arrays of launches.

@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_device_arrays_that_nobody_initialized():
    array = kernel.DeviceArray.__new__(kernel.DeviceArray)
    out = np.zeros(4, np.float32)
    with pytest.raises(vectis.InvalidInputError, match="without memory"):
        kernel.run("copy", array, out, device="cpu")
    increment = kernel.Kernel.from_source("increment", INCREMENT, device=DEVICE)
    with pytest.raises(vectis.InvalidInputError, match="without memory"):
        increment.launch(4, array, out)
    with pytest.raises((TypeError, RuntimeError)):
        array.numpy()


INCREMENT = """
__kernel void increment(__global float* y, __global const float* x) {
  int i = get_global_id(0);
  y[i] = x[i] + 1;
}
"""


def test_an_array_that_is_passed_twice():
    increment = kernel.Kernel.from_source("increment", INCREMENT, device=DEVICE)
    x = np.zeros(64, np.float32)
    increment.launch(64, x, x)
    assert (x == 1).all()
    increment.launch(64, x, x.reshape(8, 8))  # the same memory
    assert (x == 2).all()
    fixed = x.view()
    fixed.flags.writeable = False
    increment.launch(32, x[32:], fixed[:32])  # only read: its values before the launch
    increment.launch(32, x[:32], fixed[16:48])
    assert x.tolist() == [3.0] * 16 + [4.0] * 16 + [3.0] * 32
    both = kernel.Kernel("both", "uint i = GLOBAL_ID(0); if (i < n) { STORE_x(i, LOAD_x(i) + 1.0f); }",
                         buffers={"x": "float32:read_write", "y": "float32:read_write"}, scalars={"n": "uint32"},
                         device=DEVICE)
    z = np.zeros(64, np.float32)
    both.launch(64, z, z, 64)
    assert (z == 1).all()


def test_written_arrays_must_not_overlap():
    increment = kernel.Kernel.from_source("increment", INCREMENT, device=DEVICE)
    x = np.zeros(64, np.float32)
    for y in (x[:32], x[16:48], x[1:]):
        with pytest.raises(vectis.InvalidInputError, match="overlap"):
            increment.launch(y.size, x, y)
    assert (x == 0).all()
    increment.launch(32, x[:32], x[32:])  # beside each other
    assert x.tolist() == [1.0] * 32 + [0.0] * 32
    increment.launch(0, x[:0], x)


def test_outputs_of_operations_must_not_overlap():
    values, words = np.arange(8, dtype=np.float32).reshape(1, 8), np.zeros(8, np.int32)
    for first, second in ((slice(0, 4), slice(2, 6)), (slice(0, 4), slice(0, 4))):
        with pytest.raises(vectis.InvalidInputError, match="overlap"):
            kernel.run("top_k", values, words.view(np.float32)[first].reshape(1, 4), words[second].reshape(1, 4),
                       device="cpu")
    assert (words == 0).all()
    kernel.run("copy", values[0, :6], values[0, 2:], device="cpu")  # what is only read is copied first
    assert values.tolist() == [[0, 1, 0, 1, 2, 3, 4, 5]]


def test_sizes_that_wrap():
    for shape in (2**64 - 1, 2**64 - 3, (2**32, 2**32), (2**63, 2), (2**64 - 1, 0)):
        with pytest.raises((vectis.InvalidInputError, vectis.AllocationError)) as caught:
            assert kernel.empty(shape, "int8", "cpu").size == 0
            raise vectis.AllocationError("an empty array needs no memory")
        assert "0 bytes requested" not in str(caught.value)


def test_kernels_reject_odd_text():
    for make in (lambda: kernel.Kernel.from_source("increment\0", INCREMENT, device=DEVICE),
                 lambda: kernel.Kernel.from_source("increment", INCREMENT + "\0", device=DEVICE),
                 lambda: kernel.Kernel("f\0", "", buffers={"x": "float32:read_write"}, device=DEVICE),
                 lambda: kernel.Kernel("f", "", buffers={"x": "float32:read_write"}, defines={"A": "\ud800"}, device=DEVICE)):
        with pytest.raises(vectis.InvalidInputError):
            make()


def test_arguments_with_odd_types():
    class Odd:
        class dtype:
            name = 5

    class Interrupted:
        def __index__(self) -> int:
            raise KeyboardInterrupt

        __float__ = __index__

    scale = kernel.Kernel("scale", "uint i = GLOBAL_ID(0); if (i < n) { STORE_x(i, LOAD_x(i) * a); }",
                          buffers={"x": "float32:read_write"}, scalars={"a": "float32", "n": "uint32"}, device=DEVICE)
    increment = kernel.Kernel.from_source("increment", INCREMENT, device=DEVICE)
    x = np.zeros(4, np.float32)
    with pytest.raises(vectis.InvalidInputError):
        increment.launch(4, x, Odd())
    for work in (lambda: scale.launch(4, x, 1.0, Interrupted()), lambda: scale.launch(4, x, Interrupted(), 4),
                 lambda: increment.launch(4, x, Interrupted()),
                 lambda: kernel.run("fill", x, value=Interrupted(), device="cpu")):
        with pytest.raises(KeyboardInterrupt):
            work()
    for wrong in ("a", None, 10**400):
        with pytest.raises(vectis.InvalidInputError):
            scale.launch(4, x, wrong, 4)
        with pytest.raises(vectis.InvalidInputError):
            kernel.run("fill", x, value=wrong, device="cpu")


# Progress and asyncio.

class Broken:
    """A stream of a terminal that is gone."""

    def isatty(self) -> bool:
        return True

    def write(self, _: str) -> int:
        raise BrokenPipeError("the terminal is gone")

    def flush(self) -> None:
        pass


def closed_stream() -> io.StringIO:
    stream = io.StringIO()
    stream.close()
    return stream


@pytest.mark.parametrize("stream", [None, object(), Broken(), closed_stream()], ids=["none", "other", "gone", "closed"])
@pytest.mark.parametrize("progress", [None, True])
def test_the_bar_does_not_fail_the_call(stream, progress, rng, monkeypatch):
    monkeypatch.setattr("vectis._progress._DELAY", 0.0)
    index = vectis.Index(dim=64, kind="graph")
    vectors = rng.random((20_000, 64), dtype=np.float32)
    monkeypatch.setattr(sys, "stderr", stream)
    index.add(vectors, progress=progress)
    assert len(index) == 20_000


def test_callbacks_may_read(rng):
    seen = []
    index = vectis.Index(dim=4)
    index.add(np.eye(4, dtype=np.float32))
    array = kernel.to_device(np.ones(3, np.float32), "cpu")
    profile = vectis.profile()
    work = plan.Placement("cpu", plan.Workload("read", bytes=1))

    def read(*_: object) -> None:
        seen.append((memory.stats("cpu"), memory.usage("cpu"), memory.pressure("cpu"), memory.total_usage(),
                     memory.snapshot("cpu"), memory.leak_report(), vectis.devices()[0].memory(), vectis.backends(),
                     vectis.get_active_device(), vectis.is_gpu_available(), plan.assess(work), profile.rows(),
                     index.statistics(), index.explain(), len(index), index.search(np.ones(4, np.float32)),
                     array.numpy()))

    vectis.conformance("cpu", operations="fill", progress=read)
    assert seen


def test_callbacks_must_not_drop_collections():
    run_script("""
        import numpy as np
        import vectis
        store = vectis.VectorStore()
        books = store.create_collection("books", dim=64)
        try:
            books.add(np.random.default_rng(1).random((20_000, 64), dtype=np.float32),
                      progress=lambda *_: store.drop_collection("books"))
            raise SystemExit("the callback dropped the collection")
        except vectis.InvalidInputError as error:
            assert "progress callback" in str(error)
        assert len(books) == 0 and "books" in store
    """)


def test_conformance_reports_its_end():
    seen = []
    vectis.conformance("cpu", operations="fill|copy", progress=lambda what, done, total: seen.append((done, total)))
    assert seen[-1][0] == seen[-1][1] > 0


def test_a_task_that_is_cancelled_twice_waits_for_its_call(rng):
    inside = threading.Event()
    left: list[float] = []

    def wait(*_: object) -> None:
        inside.set()
        time.sleep(0.5)
        left.append(time.monotonic())

    async def work() -> None:
        index = vectis.Index(dim=32, kind="graph")
        task = asyncio.create_task(index.aadd(rng.random((20_000, 32), dtype=np.float32), progress=wait))
        while not inside.is_set():
            await asyncio.sleep(0.001)
        for _ in range(3):
            task.cancel()
            await asyncio.sleep(0.01)
        with pytest.raises(asyncio.CancelledError):
            await task
        end = time.monotonic()
        await asyncio.sleep(0.7)
        assert task.cancelled() and len(index) == 0
        assert left and max(left) < end, "the call went on after its task had ended"

    asyncio.run(work())


# Text that is not UTF-8.

def test_errors_with_other_bytes(tmp_path):
    path = os.fsencode(tmp_path / "missing") + b"/\xff\xfe"
    for work in (lambda: vectis.Index.load(path), lambda: vectis.profile().write_trace(path),
                 lambda: vectis.Index(dim=2).save(os.fsdecode(path)), lambda: vectis.VectorStore.load(path)):
        with pytest.raises(vectis.IoError, match="missing/\ufffd\ufffd"):
            work()


def test_errors_that_cut_text():
    array = kernel.empty(4, "float32", "cpu")
    text = json.loads(memory.snapshot("cpu").to_json())
    for prefix in ("", "a"):
        text["blocks"] = [{"segment": 0, "offset": 0, "bytes": 1, "state": prefix + "é" * 50}]
        with pytest.raises(vectis.CorruptDataError):
            memory.MemorySnapshot.from_json(json.dumps(text, ensure_ascii=False))
        with pytest.raises(vectis.Error):
            vectis.VectorStore().create_collection(prefix + "é" * 5000, dim=2)
    del array


def test_reports_with_other_bytes():
    run_script("""
        import logging, os
        import vectis
        records = []
        handler = logging.Handler()
        handler.emit = records.append
        logging.getLogger("vectis").addHandler(handler)
        logging.getLogger("vectis").setLevel(1)
        report = vectis.doctor()
        texts = [str(report), report._repr_html_(), *report.warnings]
        texts += [text for found in report.backends for text in (found.reason, found.advice)]
        texts += [backend.reason for backend in vectis.backends()] + [record.getMessage() for record in records]
        "".join(texts).encode()   # no surrogates
        paths = [backend.path for backend in vectis.backends()] + [found.path for found in report.backends]
        assert all(os.fsdecode(os.fsencode(path)) == path for path in paths)
        assert any("m\\ufffdller" in text for text in texts), texts
    """, VECTIS_BACKEND_PATH="/opt/m\udcfcller")


def test_messages_with_surrogates():
    with pytest.raises(vectis.InvalidInputError):
        kernel.run("fill", np.zeros(3, np.float32), device="cpu", **{"\ud800": 1})
    with pytest.raises(vectis.InvalidInputError):
        kernel.Kernel("f", "", buffers={"x": "\ud800"}, device=DEVICE)


# Profiles.

def test_nested_profiles_record_until_the_last_ends():
    profile, y = vectis.profile(), np.zeros(3, np.float32)

    def helper() -> None:
        with profile:
            kernel.run("fill", y, value=1.0, device="cpu")

    with profile:
        helper()
        for _ in range(10):
            kernel.run("copy", y, y.copy(), device="cpu")
    kernel.run("copy", y, y.copy(), device="cpu")
    profile.__exit__()  # once too often
    with profile:
        kernel.run("copy", y, y.copy(), device="cpu")
    calls = {row.name: row.calls for row in profile.rows()}
    assert (calls["fill"], calls["copy"]) == (1, 11)


@pytest.mark.parametrize("wrong", [
    {"launch_seconds": float("nan")}, {"launch_seconds": -1.0}, {"launch_seconds": float("inf")},
    {"compile_seconds": -1.0}, {"to_device": (float("nan"), 1e9)}, {"to_host": (0, -1.0)},
    {"memory_bytes_per_second": -1.0}, {"operations_per_second": {"fp32": float("inf")}},
], ids=str)
def test_profiles_of_devices_that_cannot_be(wrong):
    right = {"launch_seconds": 1e-6, "to_device": (0, 1e9), "to_host": (0, 1e9), "memory_bytes_per_second": 1e9,
             "operations_per_second": {"fp32": 1e9}}
    plan.DeviceProfile("simulated", **right)
    with pytest.raises(vectis.InvalidInputError, match=next(iter(wrong))):
        plan.DeviceProfile("simulated", **{**right, **wrong})
