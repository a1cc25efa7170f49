"""Devices, backends, the doctor and the selection of a device."""

from __future__ import annotations

import gc
import threading

import pytest
import vectis


@pytest.fixture(autouse=True)
def restore_active_device():
    yield
    vectis.reset_active_device()


def test_devices_lists_cpu_and_opencl():
    devices = vectis.devices()
    assert [device.id for device in devices] == list(range(len(devices)))
    labels = [device.label for device in devices]
    assert "cpu:0" in labels and "opencl:0" in labels
    assert len(set(labels)) == len(labels)
    for device in devices:
        assert device.label.startswith(device.backend + ":")


def test_device_describes_itself():
    for device in vectis.devices():
        assert device.name and device.kind in ("cpu", "gpu", "accelerator")
        assert device.compute_units > 0 and device.memory_bytes > 0
        assert not (device.is_gpu and device.software)
        limits = device.limits
        assert 0 < limits.binding_bytes_max <= limits.allocation_bytes_max
        assert limits.memory_alignment > 0 and limits.group_items_max > 0
        assert len(limits.group_size_max) == 3 and max(limits.group_size_max) <= limits.group_items_max
        assert all(isinstance(name, str) for name in device.capabilities + device.dialects)
        memory = device.memory()
        assert memory is None or 0 <= memory.free_bytes <= memory.total_bytes
        busy = device.utilization()
        assert busy is None or 0 <= busy <= 1
        assert device.label in repr(device) and device.label in device._repr_html_()


def test_software_driver_is_no_gpu():
    opencl = vectis.devices()[-1]
    assert opencl.backend == "opencl" and opencl.software and not opencl.is_gpu
    assert "opencl-c" in opencl.dialects
    assert vectis.is_opencl_available() == any(d.is_gpu and d.backend == "opencl" for d in vectis.devices())


def test_device_list_is_a_sequence():
    devices = vectis.devices()
    assert devices[0] == next(iter(devices)) and devices[-1] == list(devices)[len(devices) - 1]
    for index in (len(devices), -len(devices) - 1):
        with pytest.raises(IndexError):
            devices[index]
    page = devices._repr_html_()
    assert page.count("<tr>") == len(devices) + 1 and "cpu:0" in page


def test_devices_are_equal_by_identity_of_the_device():
    first, second = vectis.devices()[0], vectis.devices()[0]
    assert first == second and hash(first) == hash(second)
    assert first != vectis.devices()[-1] and first != "cpu:0" and first is not None
    assert len({first, second}) == 1


def test_device_outlives_its_list():
    devices = vectis.devices()
    device, limits = devices[0], devices[0].limits
    del devices
    gc.collect()
    assert device.label == "cpu:0" and limits.group_items_max > 0


def test_backends_have_a_state():
    backends = {backend.name: backend for backend in vectis.backends()}
    assert backends["cpu"].state == "ready" and backends["cpu"].path == "built in"
    assert [device.label for device in backends["opencl"].devices] == ["opencl:0"]
    for backend in backends.values():
        assert (backend.state == "ready") == bool(backend.devices)
        assert backend.state == "ready" or backend.reason
        assert backend.name in repr(backend)


def test_availability_follows_the_devices():
    gpus = [device for device in vectis.devices() if device.is_gpu]
    assert vectis.is_gpu_available() == bool(gpus)
    assert vectis.detect_best_backend() == (gpus[0].backend if gpus else "cpu")
    available = {"cuda": vectis.is_cuda_available(), "hip": vectis.is_hip_available(),
                 "webgpu": vectis.is_webgpu_available()}
    for backend, answer in available.items():
        assert answer == any(gpu.backend == backend for gpu in gpus)
    assert vectis.is_rocm_available() == vectis.is_hip_available()
    assert isinstance(vectis.is_metal_available(), bool)


@pytest.mark.parametrize("name", ["opencl", "opencl:0"])
def test_active_device_by_name(name):
    vectis.set_active_device(name)
    assert vectis.get_active_device().label == "opencl:0"


def test_active_device_by_id_and_object():
    opencl = next(device for device in vectis.devices() if device.backend == "opencl")
    vectis.set_active_device(opencl.id)
    assert vectis.get_active_device() == opencl
    vectis.reset_active_device()
    assert vectis.get_active_device() == vectis.default_device()
    vectis.set_active_device(opencl)
    assert vectis.get_active_device() == opencl


def test_active_device_belongs_to_a_thread():
    vectis.set_active_device("opencl")
    seen = []
    thread = threading.Thread(target=lambda: seen.append(vectis.get_active_device()))
    thread.start()
    thread.join()
    assert seen == [vectis.default_device()]
    assert vectis.get_active_device().backend == "opencl"


@pytest.mark.parametrize("device, error", [
    (99, vectis.InvalidInputError),
    (-1, vectis.InvalidInputError),
    ("nothing", vectis.UnsupportedBackendError),
    ("opencl:99", vectis.Error),
    (None, TypeError),
    (1.5, TypeError),
    (2**70, TypeError),
])
def test_unknown_device(device, error):
    with pytest.raises(error):
        vectis.set_active_device(device)
    assert vectis.get_active_device() == vectis.default_device()


def test_doctor_agrees_with_the_backends():
    report = vectis.doctor()
    ready = {diagnosis.backend for diagnosis in report.backends if diagnosis.state == "ready"}
    assert ready == {backend.name for backend in vectis.backends() if backend.state == "ready"}
    for diagnosis in report.backends:
        assert diagnosis.state == "ready" or diagnosis.reason
        assert diagnosis.backend in str(report) and diagnosis.backend in report._repr_html_()
    opencl = next(diagnosis for diagnosis in report.backends if diagnosis.backend == "opencl")
    assert opencl.devices[0].software and opencl.devices[0].name == vectis.devices()[-1].name
    assert report.system and all(isinstance(warning, str) for warning in report.warnings)
    devices = opencl.devices
    del report, opencl, diagnosis
    gc.collect()
    assert devices[0].driver
