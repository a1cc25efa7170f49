"""How much memory training takes, before it runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .. import _nn
from .module import Module
from .network import Network
from .training import Loss, TrainingConfig, _batch_loss, _dataset

if TYPE_CHECKING:
    from .. import _vectis


@dataclass(frozen=True)
class MemoryPrediction:
    """Bytes of the memory pool of a device while a module is trained there, at the moment when most are in use.

    The parts from `parameter_bytes` to `workspace_bytes` add up to `peak_bytes`.
    """

    peak_bytes: int
    parameter_bytes: int  #: parameters and buffers; twice while an update replaces them
    gradient_bytes: int  #: of the parameters, as far as they exist at that moment
    optimizer_bytes: int  #: the state that the optimizer keeps
    batch_bytes: int  #: the batch, on devices other than the CPU
    activation_bytes: int  #: values of layers and loss, kept for the gradients
    workspace_bytes: int  #: what gradients, updates and single operations need meanwhile
    largest_bytes: int  #: of the largest array
    host_bytes: int  #: the running batch and those read ahead, in host memory beside the pool


def predict_memory(module: Module, batch_size: int, config: TrainingConfig | None = None, *, data: Any = None,
                   labels: Any = None, loss: Loss | None = None, step: Callable[..., Any] | None = None) -> MemoryPrediction:
    """Return what training a module in batches of `batch_size` takes at most, on `config.device` or that of the module.

    Nothing is computed and no memory is taken. A Network needs no more. For other modules give `data`, `labels` and `loss` or
    `step` as for train(); of the data, shape and type of the first example count. The loss is called a few times with arrays
    whose elements read as 1; it must not keep them.
    """
    config = TrainingConfig() if config is None else config
    dataset = _example(module, data, labels)
    if isinstance(module, Network) and loss is None and step is None and not module._frozen:
        return MemoryPrediction(*_nn.predict_network_memory(module._native, dataset, batch_size, config))
    with _Modes(module):
        return MemoryPrediction(*_nn.predict_module_memory(module._leaves(), _batch_loss(module, loss, step),
                                                           _needed(dataset), batch_size, config))


def recommended_batch_size(module: Module, device: _vectis.Device | int | str, config: TrainingConfig | None = None, *,
                           data: Any = None, labels: Any = None, loss: Loss | None = None,
                           step: Callable[..., Any] | None = None) -> int:
    """Return the largest power of two, up to 1024, as the size of batches with which training fits a device.

    It takes at most half of the memory that is free now, in the device and by the limit of its pool; the other half is for gaps
    in the pool. Where a device does not report its free memory, the size is at most 256 for CUDA with more than 8 GiB, 128 for
    CUDA with less, 64 for OpenCL, 32 for others. The other arguments are those of predict_memory(). Raises AllocationError when
    not even the smallest batch fits.
    """
    config = TrainingConfig() if config is None else config
    dataset = _example(module, data, labels)
    if isinstance(module, Network) and loss is None and step is None and not module._frozen:
        return _nn.recommended_network_batch_size(module._native, dataset, device, config)
    with _Modes(module):
        return _nn.recommended_module_batch_size(module._leaves(), _batch_loss(module, loss, step), _needed(dataset), device,
                                                 config)


class _Modes:
    """Restores whether the parts of a module compute for training."""

    def __init__(self, module: Module) -> None:
        self._modes = [(part, part.training) for part in module.modules()]

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        for part, mode in self._modes:
            part.training = mode


def _example(module: Module, data: Any, labels: Any) -> Any:
    return None if data is None else _dataset(module, data, labels)


def _needed(dataset: Any) -> Any:
    if dataset is None:
        raise TypeError("give data, and labels if they are not part of it: shape and type of an example count")
    return dataset
