"""Records how many comparisons each test makes, which `./dev soak python` counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import side_by_side


@pytest.fixture(autouse=True)
def count_comparisons(record_property: Callable[[str, object], None]) -> Iterator[None]:
    before = side_by_side.comparisons
    yield
    record_property("comparisons", side_by_side.comparisons - before)
