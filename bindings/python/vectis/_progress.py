"""Progress of long calls: a bar on a terminal or in a notebook, a callable, or an object like tqdm's."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

Callback = Callable[[str, int, int], None]

_DELAY = 1.0  # seconds before a bar appears: most calls end sooner
_WIDTH = 30


def make_callback(progress: Any) -> Callback | None:
    """Return what the native module calls with (operation, done, total); None: nothing is shown."""
    if progress is None:
        return Bar().update if _is_visible() else None
    if progress is True:
        return Bar().update
    if hasattr(progress, "update") and hasattr(progress, "total"):
        return _update_like_tqdm(progress)
    if callable(progress):
        callback: Callback = progress
        return callback
    raise TypeError("progress must be None, a bool, a callable (operation, done, total), or like tqdm: "
                    f"an object with `update` and `total`, not {type(progress).__name__}")


class Bar:
    """A line on the standard error output that shows how far a call has come; never fails the call."""

    def __init__(self) -> None:
        self._begin = time.monotonic()
        self._shown = False
        self._broken = False

    def update(self, operation: str, done: int, total: int) -> None:
        if self._broken:
            return
        try:
            self._draw(operation, done, total)
        except Exception:  # the terminal is gone, or sys.stderr is something else
            self._broken = True

    def _draw(self, operation: str, done: int, total: int) -> None:
        elapsed = time.monotonic() - self._begin
        if not self._shown and (elapsed < _DELAY or done >= total):
            return
        self._shown = True
        share = done / total if total else 0.0
        left = f", {elapsed / share - elapsed:.0f} s left" if 0 < share < 1 else ""
        filled = "#" * int(share * _WIDTH)
        end = "\n" if total and done >= total else ""
        sys.stderr.write(f"\r{operation} [{filled:<{_WIDTH}}] {share:4.0%} of {total:,}, {elapsed:.0f} s{left}   {end}")
        sys.stderr.flush()


def _update_like_tqdm(bar: Any) -> Callback:
    last = 0

    def update(operation: str, done: int, total: int) -> None:
        nonlocal last
        bar.total = total
        if done < last:  # the call went on to its next operation
            last = 0
        bar.update(done - last)
        last = done

    return update


def _is_visible() -> bool:
    """Whether someone looks: a terminal, or a notebook's kernel."""
    try:
        shell = sys.modules.get("IPython")
        if shell is not None and type(shell.get_ipython()).__name__ == "ZMQInteractiveShell":
            return True
        return sys.stderr.isatty()
    except Exception:  # sys.stderr is None, closed, or something else
        return False
