"""Speeds on software drivers against an earlier commit: programs take turns, and the fastest rounds are compared."""

from pathlib import Path

import pytest

from tools.bench import device_speeds

NOW, BEFORE = Path("now"), Path("before")
JOB = device_speeds.Job("opencl", "PoCL", "fp32", 1000, 9)


def test_programs_take_turns_and_the_fastest_round_counts(monkeypatch):
    turns = []

    def measure(program, job):
        turns.append(program)
        load = 3 if len(turns) % 3 == 0 else 1  # of something else
        return {1: load * 10.0, job.queries: load * (40.0 if program == NOW else 50.0)}

    monkeypatch.setattr(device_speeds, "measure", measure)
    found = device_speeds.compare(NOW, BEFORE, JOB, 4)
    assert turns == [NOW, BEFORE, BEFORE, NOW, NOW, BEFORE, BEFORE, NOW]
    assert found[1].ratio == 1
    assert found[9].ratio == 50 / 40
    assert len(found[9].ratios) == 4 and found[9].ratios[0] == 50 / 40


def test_wrong_results_are_an_error(tmp_path, monkeypatch):
    program = tmp_path / "vectis"
    program.write_text("#!/bin/sh\necho '{\"wrong_answers\": 1, \"single_query_ms\": 1, \"batch_ms\": 1}'\n")
    program.chmod(0o755)
    monkeypatch.setattr(device_speeds.webgpu_driver, "environment", dict)
    with pytest.raises(ValueError, match="1 wrong results"):
        device_speeds.measure(program, JOB)


def test_every_batch_of_each_driver_is_measured():
    for driver in device_speeds.DRIVERS.values():
        for precision in ("fp32", "int8"):
            assert {9, 100} <= {job.queries for job in device_speeds.JOBS
                                if (job.driver, job.precision) == (driver, precision)}
