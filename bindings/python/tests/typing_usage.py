"""Checked by mypy --strict with the installed wheel: what users write, and the types they get. Not run."""

import asyncio
from pathlib import Path
from typing import assert_type

import numpy as np
from numpy.typing import NDArray

import vectis
import vectis.nn as nn


def search(index: vectis.Index, queries: NDArray[np.float32]) -> None:
    result = index.search(queries, k=5, filter=[1, 2], radius=2.0, recall=0.9, timeout=1.0)
    assert_type(result, vectis.SearchResult)
    assert_type(result.ids, NDArray[np.int64])
    assert_type(result.distances, NDArray[np.float64])
    assert_type(result.explain(), vectis.SearchExplanation)
    assert_type(index.add(queries, ids=range(5)), NDArray[np.int64])
    assert_type(index.remove(3), int)
    assert_type(index.get(3), NDArray[np.float32] | None)
    assert_type(len(index), int)
    assert_type(list(index), list[int])
    assert_type(vectis.Index.load(Path("a")), vectis.Index)
    assert_type(index.kind, str)


async def search_async(index: vectis.Index) -> None:
    assert_type(await index.asearch([1.0, 2.0]), vectis.SearchResult)
    await asyncio.gather(index.asearch([1, 2]), index.aadd([[1, 2]]))


def collections(store: vectis.VectorStore) -> None:
    assert_type(store["a"], vectis.Collection)
    assert_type(store.create_collection("b", dim=3, metric="cosine"), vectis.Collection)
    assert_type(store.list_collections(), list[str])
    assert_type(store["a"].metadata().gpu_backend, str | None)
    try:
        store.collection("c")
    except vectis.InvalidInputError as error:
        assert_type(error.code, int)


def arrays(x: vectis.array.Array, values: NDArray[np.float32]) -> None:
    xp = vectis.array
    assert_type(xp.asarray(values, dtype="float32") + 1, xp.Array)
    assert_type(2.0 * xp.tanh(x) @ values, xp.Array)
    assert_type(x == 1, xp.Array)
    assert_type(x[1:, None], xp.Array)
    assert_type(xp.sum(x, axis=(0, 1), keepdims=True), xp.Array)
    assert_type(xp.top_k(x, 3), tuple[xp.Array, xp.Array])
    assert_type(xp.unique_counts(x).counts, xp.Array)
    assert_type(x.shape, tuple[int, ...])
    assert_type(float(x), float)
    assert_type(x.dtype, xp.DType)
    assert_type(xp.finfo(xp.float32).eps, float)
    vectis.value_and_grad(lambda w: xp.mean(w))(x)
    x[0] = 3


class Classifier(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.hidden = nn.Dense(784, 512)
        self.output = nn.Dense(512, 10)

    def __call__(self, x: vectis.array.Array) -> vectis.array.Array:
        return self.output(nn.relu(self.hidden(x)))


def networks(images: NDArray[np.float32], labels: NDArray[np.int64]) -> None:
    network = (nn.Network.with_input_size(784)
               .add_layer(nn.LayerBuilder.dense(10).activation("softmax"))
               .loss("categorical_cross_entropy")
               .build())
    assert_type(network, nn.Network)
    config = nn.TrainingConfig(batch_size=64, optimizer=nn.AdamW(1e-3), schedule=nn.warm_up(5, nn.cosine(100)))
    history = nn.train(network, images, labels, config)
    assert_type(history, nn.History)
    assert_type(history.val_metrics["accuracy"], list[float])
    assert_type(network.predict(images), vectis.array.Array)
    assert_type(nn.evaluate(network, images, labels), tuple[float, dict[str, float]])
    model = Classifier().to("cpu").eval()
    assert_type(model, Classifier)
    assert_type(model.hidden.weight, vectis.array.Array)
    assert_type(model.hidden.bias, vectis.array.Array | None)
    assert_type(model.state_dict(), dict[str, vectis.array.Array])
    model.load_state_dict({"hidden.weight": images}, strict=False)
    optimizer = nn.SGD(0.1, momentum=0.9)
    for x, y in nn.DataLoader(nn.TensorDataset(images, labels), batch_size=32):
        loss, gradients = nn.value_and_grad(model, lambda x, y: nn.cross_entropy(model(x), y))(x, y)
        gradients, norm = nn.clip_by_norm(gradients, 1.0)
        assert_type(norm, vectis.array.Array)
        optimizer.update(model, gradients)
    output, (hidden, cell) = nn.LSTM(4, 3).run(vectis.array.zeros((5, 2, 4)))
    assert_type(hidden, vectis.array.Array)
