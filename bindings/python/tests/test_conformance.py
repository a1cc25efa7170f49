"""conformance(): reports, and what ends a run."""

from __future__ import annotations

import csv
import gc
import io
import os
import signal
import threading

import pytest
import vectis


@pytest.mark.parametrize("device", ["cpu", "opencl"])
def test_operations_pass(device):
    report = vectis.conformance(device, operations="transpose")
    assert report.passed and report.complete and report.failed == 0 and report.failures == []
    assert report.device == f"{device}:0" and report.seed == 1
    assert report.cases == sum(line.cases for line in report.lines) > 0
    assert {line.operation for line in report.lines} == {"transpose"}
    assert len({line.types for line in report.lines}) == len(report.lines) > 1
    for line in report.lines:
        assert line.passed and line.worst <= line.limit and line.skipped == line.not_offered == 0


def test_report_as_text_csv_and_table():
    report = vectis.conformance("cpu", operations="norm", seed=7)
    rows = list(csv.DictReader(io.StringIO(report.to_csv())))
    assert len(rows) == len(report.lines)
    assert str(report).endswith(f"cpu:0: {report.cases} cases, 0 failures, seed 7")
    assert report._repr_html_().count("<tr>") == len(report.lines) + 1
    assert "norm" in repr(report.lines[0])


def test_error_limits_are_reported():
    report = vectis.conformance("cpu", operations="norm")
    assert any(line.limit > 0 and line.error_of and line.worst_case for line in report.lines)


def test_one_case_alone():
    line = vectis.conformance("cpu", operations="norm").lines[0]
    report = vectis.conformance("cpu", operations="norm", case_name=line.worst_case, stop_at_failure=True)
    assert report.cases >= 1 and report.passed


def test_bad_input():
    for wrong in (dict(operations="("), dict(operations="no_such_operation"), dict(coverage="most"),
                  dict(operations="norm", case_name="no such case")):
        with pytest.raises(vectis.InvalidInputError):
            vectis.conformance("cpu", **wrong)
    with pytest.raises(vectis.UnsupportedBackendError):
        vectis.conformance("nothing")
    with pytest.raises(TypeError):
        vectis.conformance("cpu", operations="norm", progress=5)
    with pytest.raises(TypeError):
        vectis.conformance("cpu", operations="norm", seed=-1)


def test_progress_is_reported():
    seen = []
    vectis.conformance("cpu", operations="norm.*", progress=lambda what, done, total: seen.append((what, done, total)))
    assert seen and all(0 <= done <= total for _, done, total in seen)
    assert any("norm" in what for what, _, _ in seen)


def test_failing_progress_ends_the_run():
    def fail(*_: object) -> None:
        raise KeyError("stop")

    with pytest.raises(KeyError, match="stop"):
        vectis.conformance("cpu", operations="norm", progress=fail)
    assert vectis.conformance("cpu", operations="norm").passed


def test_ctrl_c_ends_the_run():
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            vectis.conformance("cpu", coverage="standard")
    finally:
        timer.cancel()


def test_other_threads_run_meanwhile():
    steps = []
    done = threading.Event()

    def count() -> None:
        while not done.is_set():
            steps.append(1)
            done.wait(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    vectis.conformance("cpu", operations="transpose")
    done.set()
    thread.join()
    assert len(steps) > 5


def test_parts_outlive_the_report():
    report = vectis.conformance("cpu", operations="norm")
    lines = report.lines
    cases = report.cases
    del report
    gc.collect()
    assert sum(line.cases for line in lines) == cases
