"""The record of training, and drawings of it."""

from __future__ import annotations

import importlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .. import _nn


@dataclass
class History:
    """The record of training: one number per epoch in each list. Notebooks show it as a drawing."""

    loss: list[float] = field(default_factory=list)
    val_loss: list[float] = field(default_factory=list)  #: empty without validation examples
    metrics: dict[str, list[float]] = field(default_factory=dict)
    val_metrics: dict[str, list[float]] = field(default_factory=dict)  #: val_metrics["accuracy"]
    learning_rate: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def __len__(self) -> int:
        """Return the number of epochs."""
        return len(self.loss)

    def plot(self) -> Any:
        """Return a figure of Matplotlib where it is installed, else a Chart; notebooks and consoles show either."""
        try:
            make_figure = importlib.import_module("matplotlib.figure").Figure
        except ImportError:
            return Chart(self)
        figure = make_figure(figsize=(6.4, 2.6 * (1 + bool(self.metrics))), layout="constrained")
        panels = figure.subplots(1 + bool(self.metrics), sharex=True, squeeze=False)[:, 0]
        epochs = range(1, len(self) + 1)
        curves = [{"loss": self.loss, "val_loss": self.val_loss},
                  {**self.metrics, **{"val_" + name: values for name, values in self.val_metrics.items()}}]
        for panel, named in zip(panels, curves, strict=False):
            for name, values in named.items():
                if values:
                    panel.plot(epochs, values, label=name, marker=".")
            if named:
                panel.legend()
        panels[-1].set_xlabel("epoch")
        return figure

    def to_csv(self) -> str:
        """Return the record as comma-separated values with a header, one row per epoch."""
        return _nn.history_csv(self)

    def to_svg(self) -> str:
        """Return a drawing of the losses, and of the metrics below them."""
        return _nn.history_svg(self)

    def _repr_svg_(self) -> str:
        return self.to_svg()


class Chart:
    """A drawing of a history: characters in a console, SVG in a notebook."""

    def __init__(self, history: History) -> None:
        """Draw a history when it is shown."""
        self._history = history

    def __repr__(self) -> str:
        return _nn.history_text(self._history, 72, 16)

    def _repr_svg_(self) -> str:
        return self._history.to_svg()

    def savefig(self, path: str | Path) -> None:
        """Write the drawing as SVG, by the name that figures of Matplotlib have for it."""
        Path(path).write_text(self._history.to_svg())
