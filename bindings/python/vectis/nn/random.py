"""Random numbers of modules: the parameters of new layers, and what dropout draws in training."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from .._array import Generator

_GOLDEN = 0x9E3779B97F4A7C15  # 2^64 / golden ratio: multiples of it are far apart (Weyl sequence)
_seed = 0
_made = 0
_dropout = Generator(0)
_local = threading.local()


def seed(value: int) -> None:
    """Begin the random numbers again that layers are made with, and that they draw in training; 0 at first.

    Programs that make the same layers in the same order get the same parameters.
    """
    global _seed, _made, _dropout
    _seed, _made, _dropout = value, 0, Generator(value)


def for_new_module() -> Generator:
    """A generator for the parameters of one module."""
    global _made
    _made += 1
    return Generator((_seed + _made * _GOLDEN) % 2**64)


def for_training() -> Generator:
    """The generator that layers draw from: that of the training in progress in this thread, or the default one."""
    found: Generator | None = getattr(_local, "generator", None)
    return _dropout if found is None else found


@contextmanager
def drawing_from(generator: Generator | None) -> Iterator[None]:
    """Have this thread's layers draw from a generator."""
    before = getattr(_local, "generator", None)
    _local.generator = generator
    try:
        yield
    finally:
        _local.generator = before
