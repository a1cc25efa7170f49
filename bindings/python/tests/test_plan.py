"""Device profiles and the planner. The oracle is the cost model of docs/plan.md, computed here."""

from __future__ import annotations

import gc

import pytest
import vectis
from vectis import plan


def make_profile(name: str = "simulated", speed: float = 1.0) -> plan.DeviceProfile:
    return plan.DeviceProfile(name, launch_seconds=1e-5, compile_seconds=0.1, to_device=(1e-5, 1e10 * speed),
                              to_host=(2e-5, 5e9 * speed), memory_bytes_per_second=1e11 * speed,
                              operations_per_second={"fp32": 1e12 * speed, "int8": 4e12 * speed})


def predicted_seconds(profile: plan.DeviceProfile, work: plan.Workload) -> float:
    rates = profile.operations_per_second
    arithmetic = sum(amount / (rates[precision] or rates["fp32"]) for precision, amount in work.operations.items())
    copies = sum(speed.call_seconds + amount / speed.bytes_per_second
                 for speed, amount in ((profile.to_device, work.copy_in_bytes), (profile.to_host, work.copy_out_bytes))
                 if amount)
    compute = max(arithmetic, work.bytes / profile.memory_bytes_per_second) / work.efficiency
    return (work.launches * profile.launch_seconds + work.kernels_to_compile * profile.compile_seconds + copies
            + compute + work.host_seconds)


@pytest.fixture(autouse=True)
def history(request) -> str:
    """A name of workloads that no other test records times for."""
    return request.node.nodeid


def test_profile_of_a_device():
    profile = plan.profile("cpu")
    assert profile.device == "cpu:0" and profile.measurements >= 1
    assert profile.memory_bytes_per_second > 0 and profile.operations_per_second["fp32"] > 0
    assert set(profile.operations_per_second) == {"fp32", "fp16", "bf16", "int8"}
    assert profile.to_device.bytes_per_second > 0 and profile.to_host.call_seconds >= 0
    assert "cpu:0" in repr(profile) and "cpu:0" in profile._repr_html_()
    assert plan.profile(vectis.devices()[0]).measured_at == profile.measured_at


def test_calibrate_measures_now():
    profile = plan.calibrate("cpu")
    assert profile.measurements == 1 and profile.calibration_seconds > 0
    assert profile.measured_at >= plan.profile("cpu").measured_at


@pytest.mark.parametrize("work", [
    dict(operations=1e9),
    dict(operations={"int8": 8e9, "fp32": 1e9}, bytes=1e6),
    dict(operations={"bf16": 1e9}),
    dict(operations=1e6, bytes=1e9),
    dict(copy_in_bytes=1e8, copy_out_bytes=1e6),
    dict(launches=20, kernels_to_compile=2, host_seconds=0.5),
    dict(operations=1e9, efficiency=0.25),
    dict(),
])
def test_predictions_follow_the_cost_model(work, history):
    workload = plan.Workload(history, **work)
    assessment = plan.assess(plan.Placement(make_profile(), workload))
    predicted = assessment.predicted
    assert predicted.seconds == pytest.approx(predicted_seconds(make_profile(), workload), rel=1e-6, abs=2e-9)
    parts = predicted.launch + predicted.compile + predicted.copy + predicted.compute + predicted.host
    assert predicted.seconds == pytest.approx(parts * predicted.correction)
    assert assessment.records == 0 and assessment.measured is None and assessment.excluded == ""


def test_workload_fields():
    work = plan.Workload("scan", operations={"int8": 5}, bytes=1, copy_in_bytes=2, copy_out_bytes=3, launches=4,
                         kernels_to_compile=6, host_seconds=7, efficiency=0.5)
    assert (work.name, work.bytes, work.copy_in_bytes, work.copy_out_bytes, work.launches, work.kernels_to_compile,
            work.host_seconds, work.efficiency) == ("scan", 1, 2, 3, 4, 6, 7, 0.5)
    assert work.operations == {"fp32": 0, "fp16": 0, "bf16": 0, "int8": 5}


def test_choose_takes_the_fastest(history):
    work = plan.Workload(history, operations=1e12)
    candidates = [plan.Placement(make_profile("slow"), work), plan.Placement(make_profile("fast", 10), work, "best"),
                  plan.Placement(make_profile("slower", 0.5), work)]
    choice = plan.choose(candidates)
    assert choice.index == 1 and not choice.explored
    assert [candidate.label for candidate in choice.candidates] == ["slow", "best", "slower"]
    assert "best" in choice.reason and choice.reason in choice.explain() == str(choice)
    assert "slower" in choice._repr_html_()
    assert candidates[1].device == "fast" and "fast" in repr(candidates[1])


def test_recorded_times_correct_predictions(history):
    placement = plan.Placement(make_profile(), plan.Workload(history, operations=1e12))
    before = plan.assess(placement).predicted.seconds
    for _ in range(20):
        plan.record(placement, 3 * before)
    after = plan.assess(placement)
    assert after.records == 20 and after.measured == pytest.approx(3 * before)
    assert after.predicted.correction == pytest.approx(3, rel=0.2)


def test_choose_among_real_devices(history):
    work = plan.Workload(history, operations=1e9, bytes=1e6)
    choice = plan.choose([plan.Placement(device, work) for device in vectis.devices()])
    assert [candidate.label for candidate in choice.candidates] == [device.label for device in vectis.devices()]
    assert plan.choose((plan.Placement("cpu", work), plan.Placement(0, work))).index in (0, 1)


def test_bad_workloads(history):
    for wrong in (dict(operations=-1), dict(bytes=float("nan")), dict(efficiency=0), dict(launches=float("inf"))):
        placement = plan.Placement(make_profile(), plan.Workload(history, **wrong))
        with pytest.raises(vectis.InvalidInputError):
            plan.assess(placement)
        with pytest.raises(vectis.InvalidInputError):
            plan.choose([placement])
        with pytest.raises(vectis.InvalidInputError):
            plan.record(placement, 1)
    with pytest.raises(vectis.InvalidInputError):
        plan.Workload(history, operations={"fp8": 1})
    with pytest.raises(vectis.InvalidInputError):
        plan.choose([])
    with pytest.raises(TypeError):
        plan.choose([5])
    with pytest.raises(vectis.InvalidInputError):
        plan.Placement(99, plan.Workload(history))
    with pytest.raises(vectis.UnsupportedBackendError):
        plan.profile("nothing")


def test_placement_outlives_profile_and_workload(history):
    profile, work = make_profile(), plan.Workload(history, operations=1e9)
    expected = predicted_seconds(profile, work)
    placement = plan.Placement(profile, work)
    del profile, work
    gc.collect()
    choice = plan.choose([placement])
    del placement
    gc.collect()
    assert choice.candidates[0].predicted.seconds == pytest.approx(expected, rel=1e-6)
    predicted = choice.candidates[0].predicted
    del choice
    gc.collect()
    assert predicted.seconds == pytest.approx(expected, rel=1e-6)
