"""Statistics, scopes and snapshots of the memory pool. The oracle is the size of the arrays that the tests make."""

from __future__ import annotations

import asyncio
import gc
import json
import threading
import xml.etree.ElementTree

import numpy as np
import pytest
import vectis
from vectis import kernel, memory

DEVICE = "opencl"
MIB = 1 << 20


@pytest.fixture(autouse=True)
def empty_pool():
    """Every test begins and ends without live buffers."""
    make_array(4)  # opens the device
    gc.collect()
    memory.cleanup()
    before = memory.stats(DEVICE).live_buffers
    yield
    gc.collect()
    assert memory.stats(DEVICE).live_buffers == before


def make_array(size: int) -> kernel.DeviceArray:
    return kernel.to_device(np.zeros(size, np.int8), DEVICE)


def tags() -> dict[str, int]:
    return {usage.tag: usage.live_bytes for usage in memory.stats(DEVICE).tags}


def test_stats_count_live_buffers():
    before = memory.stats(DEVICE)
    array = make_array(3 * MIB)
    during = memory.stats(DEVICE)
    assert during.live_buffers == before.live_buffers + 1
    assert during.requested_bytes == before.requested_bytes + array.nbytes
    assert during.in_use_bytes >= before.in_use_bytes + array.nbytes
    assert during.reserved_bytes == during.in_use_bytes + during.cached_bytes
    assert during.allocations == before.allocations + 1 and 0 <= during.hit_rate <= 1
    del array
    after = memory.stats(DEVICE)
    assert after.live_buffers == before.live_buffers
    assert after.cached_bytes >= during.cached_bytes + 3 * MIB
    assert "live_buffers" in repr(after) and "<table>" in after._repr_html_()


def test_usage_and_pressure():
    array = make_array(2 * MIB)
    usage = memory.usage(DEVICE)
    assert usage is not None and usage.peak_bytes >= usage.allocated_bytes >= array.nbytes
    total = memory.total_usage()
    assert total.allocated_bytes >= usage.allocated_bytes
    pressure = memory.pressure(DEVICE)
    assert pressure == pytest.approx(usage.allocated_bytes / memory.stats(DEVICE).limit_bytes, rel=1e-6)


def test_cleanup_returns_cached_memory():
    array = make_array(4 * MIB)
    del array
    cached = memory.stats(DEVICE).cached_bytes
    assert cached >= 4 * MIB
    assert memory.cleanup(DEVICE) == cached
    assert memory.stats(DEVICE).cached_bytes == 0
    assert memory.cleanup() == 0


def test_limit_is_enforced():
    default = memory.stats(DEVICE).limit_bytes
    memory.set_limit(8 * MIB, DEVICE)
    try:
        assert memory.stats(DEVICE).limit_bytes == 8 * MIB
        with pytest.raises(vectis.AllocationError) as raised:
            kernel.empty(16 * MIB, "int8", DEVICE)
        assert isinstance(raised.value, MemoryError) and raised.value.detail
    finally:
        memory.set_limit(default, DEVICE)
    assert kernel.empty(16 * MIB, "int8", DEVICE).nbytes == 16 * MIB


def test_scope_measures_peak_and_live():
    with memory.scope("forward", DEVICE) as scope:
        assert scope.tag == "forward" and scope.live_bytes == 0 == scope.peak_bytes
        first, second = make_array(1000), make_array(3000)
        assert scope.live_bytes == 4000
        del second
        assert scope.live_bytes == 1000 and scope.peak_bytes == 4000
        assert tags()["forward"] == 1000
    assert scope.live_bytes == 1000 and scope.peak_bytes == 4000
    del first
    assert scope.live_bytes == 1000, "frozen at the end of the scope"
    assert tags().get("forward", 0) == 0


def test_buffers_of_launches_count_in_the_scope():
    x, y = np.ones((64, 64), np.float32), np.zeros((64, 64), np.float32)
    with memory.scope("launch", DEVICE) as scope:
        kernel.run("copy", x, y, device=DEVICE)
    assert scope.peak_bytes == x.nbytes + y.nbytes and scope.live_bytes == 0


def test_scopes_nest_and_end_on_exceptions():
    with pytest.raises(KeyError), memory.scope("outer", DEVICE) as outer:
        a = make_array(100)
        with memory.scope("inner", DEVICE) as inner:
            b = make_array(200)
        c = make_array(400)
        raise KeyError("outer")
    assert (inner.peak_bytes, outer.peak_bytes) == (200, 500)
    d = make_array(800)
    assert tags() == {**tags(), "outer": 500, "inner": 200}
    del a, b, c, d
    assert scope_is_reusable(outer)


def scope_is_reusable(scope: memory.scope) -> bool:
    with scope:
        array = make_array(48)
        assert scope.live_bytes == 48
    return scope.peak_bytes == array.nbytes


def test_scopes_belong_to_tasks_and_threads():
    async def allocate(tag: str, size: int, barrier: asyncio.Barrier) -> int:
        with memory.scope(tag, DEVICE) as scope:
            await barrier.wait()
            array = make_array(size)
            await barrier.wait()
            return scope.live_bytes - array.nbytes

    async def both() -> list[int]:
        barrier = asyncio.Barrier(2)
        return await asyncio.gather(allocate("one", 100, barrier), allocate("two", 300, barrier))

    assert asyncio.run(both()) == [0, 0]
    with memory.scope("main", DEVICE) as scope:
        thread = threading.Thread(target=lambda: make_array(1000))
        thread.start()
        thread.join()
    assert scope.peak_bytes == 0


def test_scope_rejects_bad_use():
    with pytest.raises(vectis.InvalidInputError):
        memory.scope("", DEVICE)
    with pytest.raises(vectis.UnsupportedBackendError):
        memory.scope("tag", "nothing")
    scope = memory.scope("tag", DEVICE)
    with scope, pytest.raises(vectis.InvalidInputError), scope:
        pass
    assert scope.peak_bytes == 0


def test_scope_dropped_while_open():
    scope = memory.scope("dropped", DEVICE)
    scope.__enter__()
    array = make_array(64)
    del scope
    gc.collect()
    assert array.numpy().size == 64
    with memory.scope("next", DEVICE) as scope:
        del array
        array = make_array(8)
    assert scope.live_bytes == 8


def test_snapshot_shows_blocks():
    with memory.scope("<b>&", DEVICE):
        array = make_array(5000)
    snapshot = memory.snapshot(DEVICE)
    assert snapshot is not None and snapshot.device.startswith("opencl:0")
    live = [block for block in snapshot.blocks if block.state == "live"]
    assert [(block.requested_bytes, block.tag) for block in live if block.tag] == [(5000, "<b>&")]
    assert sum(block.bytes for block in live) == snapshot.stats.in_use_bytes
    assert sum(block.bytes for block in snapshot.blocks) == snapshot.stats.reserved_bytes
    assert all(block.bytes >= block.requested_bytes and block.age_seconds >= 0 for block in live)
    for before, after in zip(snapshot.blocks, snapshot.blocks[1:]):
        assert (before.segment, before.offset) < (after.segment, after.offset)
    assert "MemoryBlock(" in repr(snapshot.blocks[0]) and "opencl:0" in repr(snapshot)
    del array


def test_snapshot_as_json_and_html():
    array = make_array(5000)
    snapshot = memory.snapshot(DEVICE)
    text = snapshot.to_json()
    json.loads(text)
    again = memory.MemorySnapshot.from_json(text)
    assert again.to_json() == text and len(again.blocks) == len(snapshot.blocks)
    assert "<html" in snapshot.to_html()
    with pytest.raises(vectis.CorruptDataError):
        memory.MemorySnapshot.from_json(text[:-20])
    del array


def test_snapshot_draws_a_map():
    with memory.scope("<script>", DEVICE):
        arrays = [make_array(100_000) for _ in range(20)]
    snapshot = memory.snapshot(DEVICE)
    page = snapshot._repr_html_()
    assert "<script>" not in page and "&lt;script&gt;" in page
    picture = page[page.index("<svg"):page.index("</svg>") + len("</svg>")]
    boxes = [box for box in xml.etree.ElementTree.fromstring(picture) if box.tag.endswith("rect")]
    assert len(boxes) == len(snapshot.blocks)
    assert len({box.get("fill") for box in boxes}) == len({block.state for block in snapshot.blocks})
    assert all(float(box.get("width")) >= 1 for box in boxes)
    del arrays


def test_map_is_bounded():
    arrays = [kernel.empty(1, "int8", DEVICE) for _ in range(5000)]
    page = memory.snapshot(DEVICE)._repr_html_()
    assert page.count("<rect") == 4096 and "are not drawn" in page
    del arrays


def test_snapshot_parts_outlive_it():
    snapshot = memory.snapshot(DEVICE)
    stats, blocks = snapshot.stats, snapshot.blocks
    del snapshot
    gc.collect()
    assert sum(block.bytes for block in blocks) == stats.reserved_bytes


def test_leak_report_names_live_buffers():
    with memory.scope("forgotten", DEVICE):
        array = make_array(123)
    assert "forgotten" in memory.leak_report()
    del array
    assert "forgotten" not in memory.leak_report()


@pytest.mark.parametrize("call", [memory.stats, memory.usage, memory.pressure, memory.snapshot, memory.cleanup])
def test_unknown_device(call):
    with pytest.raises(vectis.InvalidInputError):
        call(99)
    with pytest.raises(TypeError):
        call(1.5)


def test_limit_rejects_negative_sizes():
    with pytest.raises(TypeError):
        memory.set_limit(-1, DEVICE)
