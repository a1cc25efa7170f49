"""vectis.nn: modules, their parameters, gradients, states and copies, and networks from a list of layers."""

from __future__ import annotations

import copy
import gc
import pickle
import threading
import weakref

import numpy as np
import pytest

import vectis
import vectis.array as xp
import vectis.nn as nn


class Classifier(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.hidden = nn.Dense(6, 5)
        self.scale = xp.ones(5)
        self.parts = [nn.Dense(5, 4), {"last": nn.Dense(4, 3)}]
        self.register_buffer("calls", xp.zeros(()))
        self.count = xp.asarray(0)
        self._hidden = xp.ones(3)

    def __call__(self, x: xp.Array) -> xp.Array:
        self.calls = self.calls + 1
        return self.parts[1]["last"](xp.tanh(self.parts[0](xp.tanh(self.hidden(x)) * self.scale)))


NAMES = ["hidden.weight", "hidden.bias", "scale", "parts.0.weight", "parts.0.bias", "parts.1.last.weight", "parts.1.last.bias"]


def loss_of(model: nn.Module, x: xp.Array, y: xp.Array) -> xp.Array:
    return nn.cross_entropy(model(x), y)


@pytest.fixture
def batch(rng: np.random.Generator) -> tuple[xp.Array, xp.Array]:
    return xp.asarray(rng.normal(size=(7, 6)).astype(np.float32)), xp.asarray(rng.integers(0, 3, 7))


def test_parameters_are_found_by_visiting_attributes() -> None:
    model = Classifier()
    assert list(model.parameters()) == NAMES
    assert sorted(model.state_dict()) == sorted([*NAMES, "calls", "count"])
    assert model.parameter_count() == 6 * 5 + 5 + 5 + 5 * 4 + 4 + 4 * 3 + 3
    assert [name for name, _ in model.named_modules()] == ["", "hidden", "parts.0", "parts.1.last"]
    assert "parts.1.last: Dense(4, 3, True)" in repr(model)


def test_a_module_without_super_init_works() -> None:
    class Forgetful(nn.Module):
        def __init__(self) -> None:
            self.w = xp.ones(2)

    assert Forgetful().training and list(Forgetful().parameters()) == ["w"]


def test_gradients_are_those_of_finite_differences(batch: tuple[xp.Array, xp.Array]) -> None:
    model = Classifier().astype("float64")
    x, y = batch[0].astype("float64"), batch[1]
    loss, gradients = nn.value_and_grad(model, loss_of)(model, x, y)
    assert list(gradients) == NAMES and loss.item() == pytest.approx(loss_of(model, x, y).item())
    step = 1e-6
    for name, gradient in gradients.items():
        value = np.array(model.parameters()[name])
        for place in ((0,) * value.ndim, (-1,) * value.ndim):
            losses = []
            for sign in (1, -1):
                changed = value.copy()
                changed[place] += sign * step
                model.load_state_dict({name: changed}, strict=False)
                losses.append(loss_of(model, x, y).item())
            model.load_state_dict({name: value}, strict=False)
            assert np.asarray(gradient)[place] == pytest.approx((losses[0] - losses[1]) / (2 * step), abs=1e-8)


def test_arrays_of_a_module_are_values(batch: tuple[xp.Array, xp.Array]) -> None:
    model = Classifier()
    scale, weight = model.scale, model.hidden.weight
    _, gradients = nn.value_and_grad(model, loss_of)(model, *batch)
    assert model.scale is scale, "the gradient gives parameters back"
    assert model.calls.item() == 1, "what the function assigns to a buffer stays"
    nn.SGD(0.5).update(model, gradients)
    assert np.all(np.asarray(scale) == 1) and not np.all(np.asarray(model.scale) == 1)
    np.testing.assert_allclose(np.asarray(model.hidden.weight), np.asarray(weight) - 0.5 * np.asarray(gradients["hidden.weight"]),
                               rtol=1e-6)


def test_a_function_that_raises_leaves_the_module_as_it_was(batch: tuple[xp.Array, xp.Array]) -> None:
    model = Classifier()
    before = {name: np.array(value) for name, value in model.state_dict().items()}

    def fail(*_: object) -> xp.Array:
        raise KeyError("fails")

    with pytest.raises(KeyError, match="fails"):
        nn.value_and_grad(model, fail)(model, *batch)
    with pytest.raises(vectis.InvalidInputError, match="returned NoneType"):
        nn.value_and_grad(model, lambda *_: None)(model, *batch)
    for name, value in model.state_dict().items():
        np.testing.assert_array_equal(np.asarray(value), before[name])


def test_a_tuple_is_passed_through(batch: tuple[xp.Array, xp.Array]) -> None:
    model = Classifier()
    (loss, logits, text), gradients = nn.value_and_grad(
        model, lambda x, y: (nn.cross_entropy(model(x), y), model(x), "aux"))(*batch)
    assert loss.shape == () and logits.shape == (7, 3) and text == "aux" and list(gradients) == NAMES


def test_frozen_modules_are_not_trained(batch: tuple[xp.Array, xp.Array]) -> None:
    model = Classifier()
    model.hidden.freeze()
    frozen = np.array(model.hidden.weight)
    _, gradients = nn.value_and_grad(model, loss_of)(model, *batch)
    assert list(gradients) == NAMES[2:]
    nn.Adam().update(model, gradients)
    np.testing.assert_array_equal(np.asarray(model.hidden.weight), frozen)
    assert "hidden.weight" in model.state_dict()
    model.freeze()
    assert model.parameters() == {}
    assert list(model.unfreeze().parameters()) == NAMES


def test_shared_modules_have_their_parameters_once() -> None:
    model = nn.Sequential(nn.Dense(3, 3), nn.Tanh())
    model.append(model[0])
    assert list(model.parameters()) == ["0.weight", "0.bias"]
    assert list(model.state_dict()) == ["0.weight", "0.bias", "2.weight", "2.bias"]
    x = xp.asarray(np.eye(3, dtype=np.float32))
    _, gradients = nn.value_and_grad(model, lambda: xp.sum(model(x)))()
    nn.SGD(0.1).update(model, gradients)
    np.testing.assert_array_equal(np.asarray(model[0].weight), np.asarray(model[2].weight))


def test_a_module_within_itself_ends() -> None:
    model = nn.Sequential(nn.Dense(2, 2))
    model.again = model
    assert list(model.parameters()) == ["0.weight", "0.bias"]
    assert len(list(model.modules())) == 2


def test_modes() -> None:
    model = nn.Sequential(nn.Dropout(0.5), nn.BatchNorm(4))
    x = xp.asarray(np.random.default_rng(1).normal(size=(64, 4)).astype(np.float32))
    nn.seed(3)
    trained = np.asarray(model(x))
    assert model.state_dict()["1.num_batches_tracked"].item() == 1
    nn.seed(3)
    np.testing.assert_array_equal(np.asarray(model(x)), trained)
    model.eval()
    assert not model[0].training
    first = np.asarray(model(x))
    np.testing.assert_array_equal(np.asarray(model(x)), first)
    assert model.state_dict()["1.num_batches_tracked"].item() == 2, "inference does not count"
    assert (np.asarray(model.train()(x)) == 0).sum() < 0.5 * 256


def test_seeds_determine_parameters() -> None:
    nn.seed(7)
    first = [np.array(nn.Dense(4, 4).weight) for _ in range(2)]
    nn.seed(7)
    second = [np.array(nn.Dense(4, 4).weight) for _ in range(2)]
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first[0], first[1])
    generator = vectis.array.Generator(7)
    assert np.array_equal(nn.Dense(4, 4, random=generator).weight, nn.Dense(4, 4, random=vectis.array.Generator(7)).weight)


def test_attributes_of_layers() -> None:
    layer = nn.Dense(3, 2, bias=False)
    assert layer.bias is None
    layer.weight = np.ones((2, 3))
    assert layer.weight.dtype == xp.float32 or layer.weight.dtype == xp.float64
    with pytest.raises(vectis.InvalidInputError, match=r"weight has shape"):
        layer.weight = xp.ones((3, 2))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = layer.nothing
    encoder = nn.TransformerEncoder(2, 8, 2, feed_forward=16)
    part = encoder.layers[1].linear1
    assert part.weight.shape == (16, 8) and encoder.state_dict()["layers.1.linear1.weight"].shape == (16, 8)
    part.bias = xp.zeros(16)
    assert np.all(np.asarray(encoder.state_dict()["layers.1.linear1.bias"]) == 0)
    with pytest.raises(IndexError):
        _ = encoder.layers[2]


def test_state_dicts_name_what_does_not_fit() -> None:
    model = nn.Sequential(nn.Dense(3, 2))
    before = np.array(model[0].weight)
    state = {"0.weight": np.ones((3, 2)), "0.other": np.ones(1)}
    with pytest.raises(vectis.InvalidInputError) as caught:
        model.load_state_dict(state)
    for name in ("0.weight", "0.other", "0.bias"):
        assert name in str(caught.value)
    np.testing.assert_array_equal(np.asarray(model[0].weight), before)
    model.load_state_dict({"0.bias": np.array([1, 2])}, strict=False)
    assert np.asarray(model[0].bias).tolist() == [1, 2] and model[0].bias.dtype == xp.float32
    with pytest.raises(vectis.InvalidInputError, match="object"):
        model.load_state_dict({"0.bias": object()}, strict=False)


def test_loaded_arrays_are_copies() -> None:
    source = np.ones((2, 3), np.float32)
    layer = nn.Dense(3, 2, bias=False)
    layer.load_state_dict({"weight": source})
    source[:] = 5
    assert np.all(np.asarray(layer.weight) == 1)
    exported = np.asarray(layer.state_dict()["weight"])
    assert np.from_dlpack(layer.state_dict()["weight"]).shape == (2, 3) and not exported.flags.writeable


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))], ids=["copy", "pickle"])
def test_copies_are_equal_and_independent(copied: object, batch: tuple[xp.Array, xp.Array]) -> None:
    for model in (Classifier().eval(), make_network(), nn.LSTM(6, 4), nn.Sequential(nn.Dense(6, 2), nn.GELU())):
        twin = copied(model)  # type: ignore[operator]
        x = xp.expand_dims(batch[0], axis=1) if isinstance(model, nn.LSTM) else batch[0]
        np.testing.assert_array_equal(np.asarray(twin(x)), np.asarray(model(x)))
        assert list(twin.state_dict()) == list(model.state_dict()) and twin.training == model.training
        first = next(iter(model.parameters()))
        before = np.array(model.parameters()[first])
        twin.load_state_dict({first: before + 1}, strict=False)
        np.testing.assert_array_equal(np.asarray(model.parameters()[first]), before)


def test_state_dicts_pickle() -> None:
    state = Classifier().state_dict()
    for name, value in pickle.loads(pickle.dumps(state)).items():
        np.testing.assert_array_equal(np.asarray(value), np.asarray(state[name]))


def test_modules_are_released() -> None:
    model = Classifier()
    _, gradients = nn.value_and_grad(model, loss_of)(model, xp.zeros((2, 6)), xp.asarray([0, 1]))
    nn.Adam().update(model, gradients)
    model.own_gradient = nn.value_and_grad(model, loss_of)  # type: ignore[attr-defined]
    alive = weakref.ref(model)
    hidden = weakref.ref(model.hidden)
    weight = model.hidden.weight
    del model
    gc.collect()
    assert alive() is None and hidden() is None
    assert weight.shape == (5, 6) and np.isfinite(np.asarray(weight)).all(), "arrays outlive their module"


def make_network() -> nn.Network:
    return (nn.Network.with_input_size(6)
            .add_layer(nn.LayerBuilder.dense(8).activation("relu"))
            .add_layer(nn.LayerBuilder.dense(3).activation("softmax"))
            .loss("categorical_cross_entropy")
            .random(xp.Generator(4))
            .build())


def test_networks(batch: tuple[xp.Array, xp.Array]) -> None:
    network = make_network()
    assert network.input_shape == (6,) and network.output_shape == (3,)
    assert network.loss_function == "CategoricalCrossEntropy" and network.parameter_count() == 6 * 8 + 8 + 8 * 3 + 3
    assert "83 parameters" in network.summary() and repr(network) == network.summary()
    x, y = batch
    state = {name: np.asarray(value) for name, value in network.state_dict().items()}
    hidden = np.maximum(np.asarray(x) @ state["0.weight"].T + state["0.bias"], 0)
    logits = hidden @ state["2.weight"].T + state["2.bias"]
    exponentials = np.exp(logits - logits.max(axis=1, keepdims=True))
    probabilities = exponentials / exponentials.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(np.asarray(network.predict(np.asarray(x).astype(np.float64))), probabilities, rtol=1e-5)
    np.testing.assert_allclose(np.asarray(network(x)), probabilities, rtol=1e-5)
    np.testing.assert_allclose(network.loss(network.logits(x), y).item(),
                               -np.log(probabilities[np.arange(7), np.asarray(y)]).mean(), rtol=1e-5)


def test_errors_of_networks() -> None:
    with pytest.raises(vectis.InvalidInputError, match="no layers"):
        nn.Network.with_input_size(3).build()
    with pytest.raises(vectis.InvalidInputError, match="leaky_relu"):
        nn.LayerBuilder.dense(3).activation("rectified")
    with pytest.raises(vectis.InvalidInputError, match="'huber'"):
        nn.Network.with_input_size(3).add_layer(nn.LayerBuilder.dense(3)).loss("other").build()
    with pytest.raises(vectis.InvalidInputError, match=r"\[1: conv2d"):
        (nn.Network.with_input_size(3).add_layer(nn.LayerBuilder.dense(3)).add_layer(nn.LayerBuilder.conv2d(4, 3)).build())
    with pytest.raises(TypeError):
        nn.LayerBuilder.dense("many")  # type: ignore[arg-type]
    with pytest.raises(vectis.InvalidInputError, match="dense"):
        make_network()(xp.zeros((2, 5)))


def test_networks_keep_copies_of_their_layers() -> None:
    builder = nn.LayerBuilder.dense(8)
    collecting = nn.Network.with_input_size(6).add_layer(builder)
    direct = nn.Network(6, [builder])
    x = np.random.default_rng(3).normal(size=(5, 6))
    made = [collecting.build(), direct]
    builder.activation("relu")
    assert np.asarray(nn.Network(6, [builder]).predict(x)).min() == 0
    made.append(collecting.build())
    for network in made:
        expected = np.asarray(network.predict(x))
        assert expected.min() < 0, "made before the activation"
        for twin in (copy.deepcopy(network), pickle.loads(pickle.dumps(network))):
            np.testing.assert_array_equal(np.asarray(twin.predict(x)), expected)
    with pytest.raises(ValueError, match="'relu' already, so 'tanh' cannot follow"):
        builder.activation("tanh")


def test_predictions_have_the_type_of_the_parameters() -> None:
    def make(**options: object) -> nn.Network:
        return nn.Network(1, [nn.LayerBuilder.dense(1)], **options)  # type: ignore[arg-type]

    network = make().astype("float64")
    network.load_state_dict({"0.weight": np.array([[1.0]]), "0.bias": np.array([0.0])})
    for x in (np.array([[0.1]]), [[0.1]], xp.asarray([[0.1]], dtype="float64")):
        result = network.predict(x)
        assert result.dtype == xp.float64 and result.item() == 0.1
    history = nn.train(network, np.array([[0.1]] * 4), np.zeros((4, 1)), nn.TrainingConfig(max_epochs=1, optimizer=nn.SGD(0)))
    assert history.loss == pytest.approx([0.01], rel=1e-7)
    assert network.astype("float16").predict(np.ones((1, 1))).dtype == xp.float16
    assert make().predict(np.ones((1, 1))).dtype == xp.float32
    assert make(input_type="float64").predict(np.ones((1, 1), np.float32)).dtype == xp.float64, "a type that was given holds"
    words = nn.Network(3, [nn.LayerBuilder.embedding(5, 2), nn.LayerBuilder.flatten()]).astype("float64")
    assert words.predict(np.array([[0, 1, 2]])).dtype == xp.float64


def test_classes_that_derive_from_layers_may_have_any_name() -> None:
    class MyReLU(nn.ReLU):
        pass

    class Embedding(nn.Dense):
        pass

    class Adam(nn.Dense):
        extra: xp.Array

    x = xp.asarray([[-1.0, 2.0, 3.0]])
    assert np.asarray(MyReLU()(x)).tolist() == [[0, 2, 3]]
    for kind in (Embedding, Adam):
        layer = kind(3, 2)
        assert list(layer.parameters()) == ["weight", "bias"] and layer(x).shape == (1, 2)
        np.testing.assert_array_equal(np.asarray(copy.deepcopy(layer)(x)), np.asarray(layer(x)))
    with pytest.raises(AttributeError, match="extra"):
        _ = layer.extra
    layer.extra = xp.ones(2)
    assert list(layer.parameters()) == ["weight", "bias", "extra"]


def test_arrays_that_a_layer_would_not_use_are_refused() -> None:
    layer = nn.Dense(2, 1, bias=False)
    with pytest.raises(AttributeError, match="this Dense was made without bias"):
        layer.bias = xp.ones(1)
    layer.bias = None
    assert layer.bias is None and list(layer.parameters()) == ["weight"]
    for other, name in ((nn.BatchNorm(3, affine=False), "weight"), (nn.MultiHeadAttention(4, 2, bias=False), "in_proj_bias")):
        with pytest.raises(AttributeError, match=f"made without {name}"):
            setattr(other, name, xp.ones(3))
    encoder = nn.TransformerEncoder(1, 8, 2, feed_forward=8)
    with pytest.raises(AttributeError, match="layers is a part of this TransformerEncoder"):
        encoder.layers = xp.ones(3)
    layer.scale = xp.ones(1)
    assert list(layer.parameters()) == ["weight", "scale"], "arrays of other names are the module's own"


def test_names_of_functions() -> None:
    x = xp.asarray(np.linspace(-3, 3, 13, dtype=np.float32))
    np.testing.assert_array_equal(np.asarray(nn.activate(x, "LeakyReLU")), np.asarray(nn.activate(x, "leaky_relu")))
    np.testing.assert_array_equal(np.asarray(nn.activate(x, "silu")), np.asarray(nn.SiLU()(x)))
    np.testing.assert_array_equal(np.asarray(nn.ReLU()(x)), np.maximum(np.asarray(x), 0))


def test_threads_infer_with_one_module_concurrently() -> None:
    model = Classifier().eval()
    x = xp.asarray(np.random.default_rng(2).normal(size=(50, 6)).astype(np.float32))
    expected = np.asarray(model(x))
    failures: list[BaseException] = []

    def infer() -> None:
        try:
            for _ in range(20):
                np.testing.assert_array_equal(np.asarray(model(x)), expected)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=infer) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
