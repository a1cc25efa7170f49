"""Fixtures of all tests; they run against the installed wheel."""

from __future__ import annotations

import os
import signal

import numpy as np
import pytest


def seed() -> int:
    return int(os.environ.get("VECTIS_TEST_SEED", "1"))


def pytest_configure() -> None:
    """Handles Ctrl-C as at a terminal: a shell that runs the tests in the background has it ignored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_report_header() -> str:
    return f"VECTIS_TEST_SEED={seed()}"


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(seed())
