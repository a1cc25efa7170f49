"""Random networks of ./dev soak nn: what is drawn, and that a difference is found."""

import numpy as np
import pytest

from tools.bench.network_sample import KINDS, STEPS, Sample, Trained, draw

PARTS = ("dense", "conv1d", "conv2d", "max_pool", "average_pool", "batch_norm", "layer_norm", "group_norm", "dropout",
         "embedding", "rnn", "lstm", "gru", "attention", "transformer")


def names(layers):
    for name, *arguments in layers:
        yield name
        if name == "residual":
            yield from names(arguments)


def test_seed_determines_the_networks():
    assert draw(7, 10) == draw(7, 10) != draw(8, 10)


def test_every_layer_loss_and_optimizer_is_drawn():
    networks = draw(1, 40 * len(KINDS))
    assert set(PARTS) <= {name for network in networks for name in names(network.layers)}
    assert len({network.loss for network in networks}) == 5
    assert {network.optimizer[0] for network in networks} == {"SGD", "Adam", "AdamW", "RMSprop"}


class Side:
    """A library whose losses and weights are off by `error` in `dtype`."""

    def __init__(self, dtype="", error=0.0, where=""):
        self.dtype, self.error, self.where = dtype, error, where

    def ask(self, **request):
        if request.get("prepare") == "random":
            self.off = self.error if request["dtype"] == self.dtype else 0.0
        if request.get("call") == "train":
            return [self.value("losses")] * request["steps"]
        if request.get("call") == "save":
            np.savez(request["path"], weight=np.full(4, self.value("weights")), bias=np.ones(4))
        return True

    def value(self, where):
        return 1.0 + self.off if self.where == where else 1.0


class Sides:
    def __init__(self, **sides):
        self.sides = sides


@pytest.mark.parametrize("where", ["losses", "weights"])
@pytest.mark.parametrize("dtype, error, agrees", [("float64", 1e-4, False), ("float64", 1e-8, True), ("float32", 1e-2, False),
                                                  ("float32", 1e-4, True), ("float32", np.nan, False)])
def test_difference_is_a_problem(tmp_path, where, dtype, error, agrees):
    sample = Sample(Sides(vectis=Side(dtype, error, where), torch=Side()), tmp_path)
    problem = sample.problem(draw(1, 1)[0])
    assert (problem == "") is agrees
    assert agrees or (where in problem and dtype in problem)


def test_float32_may_be_as_far_as_pytorch(tmp_path):
    sample = Sample(Sides(vectis=Side("float32", 0.02, "weights"), torch=Side("float32", 0.01, "weights")), tmp_path)
    assert sample.problem(draw(1, 1)[0]) == ""


def test_missing_tensor_is_an_error():
    truth = Trained(np.ones(STEPS), {"weight": np.ones(3)})
    with pytest.raises(KeyError):
        Trained(np.ones(STEPS), {}).error_of_state(truth)
