"""`./dev test` finds the seconds of each test in what ctest prints, and notices changed inputs of a compile."""

from tools import suite

CTEST_OUTPUT = """\
Test project build/release
        Start    1: base.Bytes.RoundTrip
   1/1926 Test    #1: base.Bytes.RoundTrip ...........................................   Passed    0.05 sec
   2/1926 Test   #12: search.Kinds/Recall.Holds/l2 ...***Failed   12.50 sec
Total Test time (real) =  13.00 sec
"""


def test_seconds_of_every_test_are_read():
    assert suite.ctest_times(CTEST_OUTPUT) == [("base.Bytes.RoundTrip", 0.05), ("search.Kinds/Recall.Holds/l2", 12.5)]


def test_what_failed_tests_printed_is_found():
    printed = CTEST_OUTPUT.replace("12.50 sec\n", "12.50 sec\n" + "noise\n" * 100 + "recall 0.9, expected 0.95\n")
    printed += "3/1926 Test #3: store.Gpu ...***Skipped 0.1 sec\nno GPU\n"
    found = suite.failed_tests(printed).splitlines()
    assert found[0].endswith("***Failed   12.50 sec") and "recall 0.9, expected 0.95" in found
    assert len(found) <= 1 + suite.FAILED_LINES and not any("GPU" in line for line in found)


def test_commits_sanitize_other_parts_of_long_programs_and_all_of_others():
    names = ["nn.Adam.Steps", *(f"search.Graph.Finds/{i}  # GetParam() = {i}" for i in range(1000)),
             "arrays_devices.Devices/EveryArrayDevice.Adds/opencl", "fuzz.read_npy"]
    found = [suite.sanitized(names, commit) for commit in range(40)]
    assert all({1, len(names)} <= set(numbers) and len(names) - 1 not in numbers for numbers in found)
    assert all(180 < len(numbers) < 330 for numbers in found)
    assert set().union(*found) == set(range(1, len(names) + 1)) - {len(names) - 1}
    assert suite.sanitized([name.replace("GetParam() = ", "0x") for name in names], 7) == found[7]


def test_digest_changes_with_a_compiled_file_only(planted, monkeypatch):
    monkeypatch.setattr(suite, "ROOT", planted.root)
    before = suite.compiled_inputs()
    planted.write("docs/errors.md", "other\n")
    assert suite.compiled_inputs() == before
    planted.write("src/device/device.cpp", "int x;\n")
    assert suite.compiled_inputs() != before


def test_debug_build_is_skipped_only_for_inputs_that_compiled(planted, monkeypatch, tmp_path):
    monkeypatch.setattr(suite, "ROOT", planted.root)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    built = []
    monkeypatch.setattr(suite, "build", lambda preset, *targets: built.append(preset))
    suite.debug()
    suite.debug()
    assert built == ["debug"]
    planted.write("include/vectis/base/error.hpp", "#pragma once\n")
    suite.debug()
    assert built == ["debug", "debug"]
