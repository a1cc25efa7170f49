"""The module for ann-benchmarks, run as its runner runs modules, with a stand-in for its base class."""

from __future__ import annotations

import importlib
import itertools
import shutil
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import yaml
from oracle import distances

FOLDER = Path(__file__).parents[1] / "ann-benchmarks" / "vectis"
BASE = '''
class BaseANN:
    def done(self): pass
    def get_batch_results(self): return self.res
    def get_additional(self): return {}
    def __str__(self): return self.name
'''
ROWS, DIM, QUERIES, K = 12_000, 16, 40, 10
METRICS = {"euclidean": "l2", "angular": "cosine"}


@pytest.fixture
def module(tmp_path, monkeypatch) -> ModuleType:
    """The module where the runner finds it."""
    algorithms = tmp_path / "ann_benchmarks" / "algorithms"
    (algorithms / "base").mkdir(parents=True)
    (algorithms / "base" / "module.py").write_text(BASE)
    shutil.copytree(FOLDER, algorithms / "vectis")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield importlib.import_module("ann_benchmarks.algorithms.vectis.module")
    for name in [name for name in sys.modules if name.split(".")[0] == "ann_benchmarks"]:
        del sys.modules[name]


def definitions() -> dict[str, dict[str, object]]:
    return {entry["name"]: entry for entry in yaml.safe_load((FOLDER / "config.yml").read_text())["float"]["any"]}


def combinations(groups: list[object]) -> list[list[object]]:
    """All choices of one value of each group, as the runner makes them."""
    return [list(chosen) for chosen in itertools.product(*(group if isinstance(group, list) else [group]
                                                           for group in groups))]


def recall_of(found: list[np.ndarray], truth: np.ndarray) -> float:
    return float(np.mean([len(np.intersect1d(ids, row)) / K for ids, row in zip(found, truth, strict=True)]))


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("name", definitions())
def test_every_definition_runs(module, rng, name, metric):
    definition = definitions()[name]
    assert definition["module"] == module.__name__.rpartition(".")[0]
    assert definition["docker_tag"] == "ann-benchmarks-vectis"
    centers = rng.standard_normal((50, DIM), dtype=np.float32)
    rows, queries = (centers[rng.integers(0, 50, count)] + rng.standard_normal((count, DIM), dtype=np.float32) / 3
                     for count in (ROWS, QUERIES))
    truth = np.argsort(distances(queries, rows, METRICS[metric]), axis=1, kind="stable")[:, :K]
    for group in definition["run_groups"].values():
        for arguments in combinations(group["args"]):
            values = [metric if value == "@metric" else value for value in definition["base_args"]] + arguments
            algorithm = getattr(module, definition["constructor"])(*values)
            algorithm.fit(rows)
            recalls = []
            for query_arguments in combinations(group.get("query_args", [])) or [[]]:
                if query_arguments:
                    algorithm.set_query_arguments(*query_arguments)
                single = [algorithm.query(query, K) for query in queries]
                algorithm.batch_query(queries, K)
                batch = algorithm.get_batch_results()
                for found in (*single, *batch):
                    assert len(found) == len(set(found)) == K
                    assert rows[found].shape == (K, DIM)  # the runner computes distances by these
                wanted = query_arguments[0] if query_arguments else 1.0
                recalls.append((recall_of(single, truth), recall_of(batch, truth)))
                assert min(recalls[-1]) >= min(wanted, 0.99) - 0.05, f"{recalls[-1]} where {wanted} was asked for"
                assert str(wanted) in str(algorithm) or not query_arguments
                assert algorithm.get_additional() == {}
            if name == "vectis-exact":
                assert recalls == [(1.0, 1.0)]
            algorithm.done()
