"""profile(): totals by name and device, ranges and traces."""

from __future__ import annotations

import gc
import json
import threading
import time

import numpy as np
import pytest
import vectis
from vectis import kernel

DEVICE = "opencl"


@pytest.fixture(scope="module")
def arrays() -> tuple[kernel.DeviceArray, kernel.DeviceArray]:
    """Arrays of which the first copy compiled the kernel."""
    made = kernel.to_device(np.ones((8, 8), np.float32), DEVICE), kernel.empty((8, 8), "float32", DEVICE)
    kernel.run("transpose", *made)
    return made


def rows(profile: vectis.Profile) -> dict[str, vectis._vectis.ProfileRow]:
    return {row.name: row for row in profile.rows()}


def test_profile_counts_work_of_devices(arrays):
    with vectis.profile() as profile:
        for _ in range(5):
            kernel.run("transpose", *arrays)
    found = profile.rows()
    assert [row.total_seconds for row in found] == sorted((row.total_seconds for row in found), reverse=True)
    assert {row.clock for row in found} == {"host", "device"}, "the operation, and its kernel"
    for row in found:
        assert "transpose" in row.name and row.device == "opencl:0" and row.name in repr(row)
        assert row.calls == 5 and row.failed == 0
        assert 0 < row.min_seconds <= row.mean_seconds <= row.max_seconds <= row.total_seconds
        assert row.mean_seconds == pytest.approx(row.total_seconds / 5)


def test_copies_have_bytes():
    values = np.ones(1 << 20, np.float32)
    with vectis.profile() as profile:
        kernel.to_device(values, DEVICE).numpy()
    found = rows(profile)
    assert {row.bytes for row in found.values()} == {values.nbytes} and len(found) == 2
    assert all(row.gigabytes_per_second > 0 for row in found.values())


def test_nothing_is_recorded_outside(arrays):
    profile = vectis.profile()
    kernel.run("transpose", *arrays)
    with profile:
        pass
    kernel.run("transpose", *arrays)
    assert profile.rows() == []


def test_profile_can_be_entered_again(arrays):
    profile = vectis.profile()
    for _ in range(2):
        with profile:
            kernel.run("transpose", *arrays)
    assert profile.rows()[0].calls == 2
    profile.clear()
    assert profile.rows() == []


def test_ranges_measure_threads():
    with vectis.profile() as profile:
        with profile.range("outer", bytes=1000), profile.range("inner"):
            time.sleep(0.02)
        thread = threading.Thread(target=lambda: profile.range("outer").__enter__().__exit__(None, None, None))
        thread.start()
        thread.join()
    found = rows(profile)
    assert found["outer"].calls == 2 and found["inner"].calls == 1
    assert found["outer"].max_seconds >= found["inner"].total_seconds >= 0.02
    assert found["outer"].bytes == 1000 and found["outer"].device == "" and found["outer"].clock == "host"


def test_ranges_close_on_exceptions():
    with vectis.profile() as profile:
        with pytest.raises(KeyError), profile.range("failing"):
            raise KeyError
        section = profile.range("twice")
        with section, pytest.raises(vectis.InvalidInputError):
            section.__enter__()
        with section:
            pass
    assert rows(profile)["failing"].calls == 1 and rows(profile)["twice"].calls == 2


def test_range_of_a_device():
    with vectis.profile() as profile:
        with profile.range("placed", device=DEVICE):
            pass
        with pytest.raises(vectis.InvalidInputError):
            profile.range("placed", device=99)
    assert rows(profile)["placed"].device == "opencl:0"


def test_range_keeps_its_profile_alive():
    section = vectis.profile().range("orphan")
    gc.collect()
    with section:
        pass


def test_profile_ends_on_exceptions(arrays):
    profile = vectis.profile()
    with pytest.raises(KeyError), profile:
        raise KeyError
    kernel.run("transpose", *arrays)
    assert profile.rows() == []


def test_several_profiles(arrays):
    with vectis.profile() as outer:
        kernel.run("transpose", *arrays)
        with vectis.profile() as inner:
            kernel.run("transpose", *arrays)
    assert (outer.rows()[0].calls, inner.rows()[0].calls) == (2, 1)


def test_summary_and_table(arrays):
    with vectis.profile() as profile, profile.range("<step>"):
        kernel.run("transpose", *arrays)
    assert "<step>" in str(profile) and "opencl:0" in str(profile) and not str(profile).endswith("\n")
    page = profile._repr_html_()
    assert "&lt;step&gt;" in page and "<step>" not in page and page.count("<tr>") == len(profile.rows()) + 1


@pytest.mark.parametrize("as_text", [True, False])
def test_trace(arrays, tmp_path, as_text):
    path = tmp_path / "trace.json"
    with vectis.profile() as profile, profile.range("step"):
        kernel.run("transpose", *arrays)
    profile.write_trace(str(path) if as_text else path)
    trace = json.loads(path.read_text())
    events = trace["traceEvents"] if isinstance(trace, dict) else trace
    assert any(event.get("name") == "step" for event in events)
    with pytest.raises(vectis.IoError):
        profile.write_trace(tmp_path / "missing" / "trace.json")
    with pytest.raises(TypeError):
        profile.write_trace(5)


def test_small_traces_count_what_they_drop(arrays):
    with vectis.profile(capacity=4) as profile:
        for _ in range(20):
            with profile.range("many"):
                pass
    assert profile.losses.dropped > 0 and rows(profile)["many"].calls == 20
    assert profile.losses.untimed == 0 == profile.losses.other_names


def test_host_times_alone(arrays):
    with vectis.profile(device_times=False) as profile:
        kernel.run("transpose", *arrays)
    assert {row.clock for row in profile.rows()} == {"host"}


def test_profile_dropped_while_recording(arrays):
    profile = vectis.profile()
    profile.__enter__()
    del profile
    gc.collect()
    kernel.run("transpose", *arrays)
