"""Arrays on devices other than the CPU, against NumPy."""

import numpy as np
import pytest

import vectis
import vectis.array as xp

DEVICES = [device.label for device in vectis.devices() if device.backend != "cpu"]


@pytest.fixture(params=DEVICES[:1] or [None])
def device(request):
    if request.param is None:
        pytest.skip("there is only the CPU")
    return request.param


def on(device, array):
    return xp.asarray(array, device=device)


def test_operations_and_gradients_run_there(device):
    rng = np.random.default_rng(1)
    x, w = rng.standard_normal((5, 3), np.float32), rng.standard_normal(3).astype(np.float32)
    loss = lambda w: xp.mean((on(device, x) @ w - 1) ** 2)
    value, gradient = vectis.value_and_grad(loss)(on(device, w))
    assert value.device.label == gradient.device.label == device
    assert float(value) == pytest.approx(np.mean((x @ w - 1) ** 2), rel=1e-5)
    np.testing.assert_allclose(np.asarray(gradient), 2 * x.T @ (x @ w - 1) / 5, rtol=1e-4)


def test_indices_come_from_either_side(device):
    expected = np.arange(24, dtype=np.float32).reshape(4, 6)
    x = on(device, expected)
    rows, columns = np.array([0, 2, -1]), np.array([1, 1, 5])
    for key in (1, slice(None, None, -2), rows, (rows, columns), (slice(1, 3), columns), expected > 5, (..., 2)):
        np.testing.assert_array_equal(np.asarray(x[key]), expected[key])
    np.testing.assert_array_equal(np.asarray(x[on(device, rows.astype(np.int32))]), expected[rows])
    with pytest.raises(IndexError, match="axis of 4 elements"):
        np.asarray(x[np.array([2**32])])
    for key, value in (((slice(1, 3), slice(None, None, 2)), 7), (rows, 3), (expected > 20, 0), ((0, 0), -1)):
        x[key] = value
        expected[key] = value
        np.testing.assert_array_equal(np.asarray(x), expected)


def test_copies_keep_values_and_gradients(device):
    x = xp.asarray([1.0, 2.0, 3.0])
    gradient = vectis.grad(lambda v: xp.sum(v.to_device(device) ** 2).to_device("cpu"))(x)
    assert gradient.device.label == "cpu:0" and gradient.tolist() == [2, 4, 6]
    changed = np.ones(3, np.float32)
    copy = on(device, changed)
    changed[:] = 5
    assert copy.tolist() == [1, 1, 1]


def test_wide_types_are_refused(device):
    with pytest.raises(vectis.UnsupportedError, match="array.wide_types"):
        on(device, np.ones(3))
    assert on(device, [1, 2]).dtype == xp.int32
    assert xp.asarray(np.ones(3), dtype=xp.float32, device=device).tolist() == [1, 1, 1]


def test_asarray_moves_arrays(device):
    x = xp.asarray([1.0, 2.0])
    assert xp.asarray(x, device=device).device.label == xp.from_dlpack(x, device=device).device.label == device
    assert xp.asarray(on(device, [1.0]), device="cpu").device.label == "cpu:0"
    for array in (x, np.ones(2, np.float32)):
        with pytest.raises(ValueError, match="copy=False"):
            xp.asarray(array, device=device, copy=False)
    x = on(device, np.zeros(3, np.float32))
    x[1:] = np.array([0.5, 0.25])
    assert x.tolist() == [0, 0.5, 0.25]


def test_operands_must_be_together(device):
    with pytest.raises(vectis.InvalidInputError, match="operands are on"):
        xp.ones(3, device=device) + xp.ones(3)


def test_large_numbers_have_their_type():
    assert xp.full(2, 2**40).tolist() == [2**40, 2**40]
