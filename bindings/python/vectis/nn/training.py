"""Training and evaluation of modules and networks."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .. import _nn, _vectis
from .._array import Array, Generator
from . import random
from .data import DatasetRange, TensorDataset, as_dataset
from .history import History
from .module import Module
from .network import Network

if TYPE_CHECKING:
    from .._types import ArrayDType


class TrainingObserver:
    """Is called by training, on its thread. What a method raises ends training.

    The methods see the module as it is, and may assign arrays to it, or load a state: training continues with them.
    """

    def on_batch(self, progress: _nn.BatchProgress) -> None:
        """Called after each batch. Reading values of arrays here makes training wait for the device."""

    def on_epoch(self, epoch: _nn.Epoch, epochs: int) -> None:
        """Called after each epoch; `epochs` is the most that there will be."""

    def on_end(self) -> None:
        """Called when training has ended, but not when it raised."""


@dataclass
class EarlyStopping:
    """Ends training when the loss stops falling: the validation loss where there is one."""

    patience: int = 5  #: epochs without improvement that are tolerated
    min_improvement: float = 0  #: by which the loss must fall to count as an improvement
    restore_best: bool = True  #: leaves the module as it was after its best epoch


@dataclass
class PlateauOptions:
    """How the learning rate is reduced when the loss stops falling."""

    factor: float = 0.1  #: by which the rate is multiplied when the loss has not improved
    patience: int = 10  #: epochs without improvement that are tolerated
    threshold: float = 1e-4  #: by this share of the best loss it must fall to count as an improvement
    cooldown: int = 0  #: epochs after a reduction in which none are counted
    factor_min: float = 0  #: the factor of the learning rate stays at or above it


@dataclass
class TrainingConfig:
    """How to train. Every field has a usable default."""

    batch_size: int = 32
    max_epochs: int = 10
    validation_split: float = 0  #: the share of the examples, the last ones, that is kept for validation
    shuffle: bool = True
    drop_last: bool = False  #: leaves out the last batch when it is smaller: one example has no variance for BatchNorm
    seed: int = 0  #: of the order of examples and of dropout
    optimizer: _nn.Optimizer | None = None  #: None: Adam with its defaults. Keeps its state afterwards
    schedule: Callable[[int], float] | None = None  #: None: the learning rate of the optimizer stays
    plateau: PlateauOptions | None = None  #: reduces the learning rate by the loss of early stopping
    early_stopping: EarlyStopping | None = None
    clip_norm: float | None = None  #: see clip_by_norm()
    accumulated_batches: int = 1  #: batches for one update of the parameters
    mixed_precision: ArrayDType | None = None  #: "float16" or "bfloat16": see MixedPrecision
    #: Where the module is moved; None: a module on the CPU is trained where that is predicted to be fastest, and moved back.
    device: _vectis.Device | int | str | None = None
    prefetch: int = 2  #: batches read ahead
    #: Where training is saved after each epoch, and after each `checkpoint_interval` batches unless that is 0. When the file
    #: exists, training continues from it, bit for bit as if it had not been interrupted.
    checkpoint_path: str | os.PathLike[str] | None = None
    checkpoint_interval: int = 0
    verbose: Any = False  #: True writes progress to sys.stdout; or a text file
    observers: Sequence[Any] = field(default_factory=list)


# What computes the loss of predictions and labels: one number, or a tuple of it and a dictionary of metrics.
Loss = Callable[[Array, Array], Any]


def train(module: Module, data: Any, labels: Any = None, config: TrainingConfig | None = None, *, loss: Loss | None = None,
          step: Callable[..., Any] | None = None, validation: Any = None, timeout: float | None = None,
          cancel: _vectis.CancelSource | None = None) -> History:
    """Train a module and return the record of all epochs.

    `data` and `labels` are arrays, or what `asarray` takes, whose rows are examples; or `data` is a data set. A Network has its
    loss. For other modules give `loss`, a function of predictions and labels, which returns one number, or a tuple of it
    and a dictionary of metrics; or `step`, a function of the fields of a batch, that calls the module itself.
    `validation` is a data set or a tuple (data, labels); without it `config.validation_split` holds. The module is in the mode
    for inference afterwards.

    Ctrl-C, `timeout` in seconds and `cancel` end training before the next batch; the module keeps what it has learned.
    """
    config = TrainingConfig() if config is None else config
    if not isinstance(config, TrainingConfig):
        raise TypeError(f"config is {type(config).__name__}; give a TrainingConfig")
    training = _dataset(module, data, labels)
    held_out: Any = None
    if validation is not None:
        held_out = _dataset(module, *validation) if isinstance(validation, tuple) else as_dataset(validation)
    elif config.validation_split != 0:
        training, held_out = _split(training, config.validation_split)
    observers = [*config.observers, *_progress(config.verbose)]
    _nn.check_trainable(module._leaves())
    try:
        if isinstance(module, Network) and loss is None and step is None and not module._frozen:
            record = _nn.train_network(module._native, training, held_out, config, observers, timeout, cancel)
        else:
            record = _nn.train_module(module._leaves(), _batch_loss(module, loss, step), training, held_out, config,
                                      observers, timeout, cancel)
    finally:
        module.eval()
    return History(*record)


def evaluate(module: Module, data: Any, labels: Any = None, *, loss: Loss | None = None,
             step: Callable[..., Any] | None = None, batch_size: int = 32, timeout: float | None = None,
             cancel: _vectis.CancelSource | None = None) -> tuple[float, dict[str, float]]:
    """Return the mean loss and metrics of a module over a data set, without training. The arguments are those of train()."""
    dataset = _dataset(module, data, labels)
    if isinstance(module, Network) and loss is None and step is None:
        return _nn.evaluate_network(module._native, dataset, batch_size, timeout, cancel)
    before = [(part, part.training) for part in module.modules()]
    try:
        return _nn.evaluate_module(module._leaves(), _batch_loss(module, loss, step), dataset, batch_size, timeout, cancel)
    finally:
        for part, mode in before:
            part.training = mode


def classification_loss(logits: Array, labels: Array) -> tuple[Array, dict[str, Array]]:
    """Return the cross-entropy and the accuracy of logits of shape (batch, classes); a `loss` for train()."""
    return _nn.cross_entropy(logits, labels), {"accuracy": _nn.accuracy(logits, labels)}


def regression_loss(predictions: Array, targets: Array) -> tuple[Array, dict[str, Array]]:
    """Return the mean squared error and the mean absolute error; a `loss` for train()."""
    return _nn.mse_loss(predictions, targets), {"mae": _nn.mae_loss(predictions, targets)}


def _dataset(module: Module, data: Any, labels: Any = None) -> Any:
    if labels is None:
        return as_dataset(data)
    return TensorDataset(module._inputs(data) if isinstance(module, Network) else data, labels)


def _split(dataset: Any, share: float) -> tuple[Any, Any]:
    if not 0 < share < 1:
        raise ValueError(f"validation_split is {share}; give a share of at least 0 and below 1")
    size = len(dataset)
    begin = size - int(size * share)
    if begin in (0, size):
        raise ValueError(f"a validation_split of {share} leaves no examples of {size} for training or validation")
    return DatasetRange(dataset, 0, begin), DatasetRange(dataset, begin, size)


def _batch_loss(module: Module, loss: Loss | None, step: Callable[..., Any] | None) -> Callable[..., Any]:
    """What training calls with the fields of a batch, and a generator when it is for training."""
    if (loss is None) == (step is None):
        if not isinstance(module, Network) or loss is not None:
            raise TypeError("give train() either a loss, a function of predictions and labels, or a step, a function of the "
                            "fields of a batch")
    evaluate = step if step is not None else _step_of(module, loss)

    def call(fields: list[Array], generator: Generator | None) -> Any:
        if module.training != (generator is not None):
            module.train(generator is not None)
        with random.drawing_from(generator):
            return evaluate(*fields)

    return call


def _step_of(module: Module, loss: Loss | None) -> Callable[..., Any]:
    """The step that computes a loss of predictions and labels; None: that of a network, which its frozen layers keep."""
    def step(*fields: Array) -> Any:
        if len(fields) != 2:
            raise ValueError(f"a loss is a function of predictions and labels, but a batch has {len(fields)} fields; give a data "
                             "set of two fields, or a step")
        x, y = fields
        if loss is not None:
            return loss(module(x), y)
        assert isinstance(module, Network)
        return module.loss(module.logits(x), y)

    return step


def _progress(verbose: Any) -> list[Any]:
    if isinstance(verbose, int):  # also 0 and 1
        verbose = sys.stdout if verbose else None
    return [] if verbose is None else [progress_bar(verbose)]


def progress_bar(file: Any = None) -> Any:
    """Return an observer that draws a line for the running epoch, and leaves one for each epoch that has ended.

    `file` is a text file, by default sys.stdout. Where it is neither a terminal nor the output of a notebook, only epochs that
    have ended are written. Exceptions of the file end the drawing, not the training.
    """
    file = sys.stdout if file is None else file
    return _nn.progress_bar(file, _overwrites_lines(file))


def _overwrites_lines(file: Any) -> bool:
    """Whether a carriage return begins the line again: on a terminal, and in the output of a notebook, which is no terminal."""
    if any(kind.__module__.partition(".")[0] == "ipykernel" for kind in type(file).__mro__):
        return True
    try:
        return bool(file.isatty())
    except Exception:  # a file of another kind
        return False


def csv_log(file: Any) -> Any:
    """Return an observer that writes a row of comma-separated values for each epoch to a text file.

    Exceptions of the file end training.
    """
    return _nn.csv_log(file)


def json_log(file: Any) -> Any:
    """Return an observer that writes a JSON object for each epoch to a text file.

    Exceptions of the file end training.
    """
    return _nn.json_log(file)


def tensor_board_log(folder: str | os.PathLike[str]) -> Any:
    """Return an observer that writes an event file to a folder, which `tensorboard --logdir` shows."""
    return _nn.tensor_board_log(folder)
