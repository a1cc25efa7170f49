"""The public test suite of the Python array API standard, run on vectis.array: `python -m tools.bench.array_api`.

ARRAY_API_TESTS_PATH names a clone of data-apis/array-api-tests whose folder array-api holds its submodule. A copy of it
runs, with the suite's setting ARRAY_API_TESTS_SKIP_DTYPES for the types that we do not have. The suite of 2026 assumes a
complex type in spite of this setting in three places, which the copy corrects. Prints the failed tests, the reasons of
skips, and a line of JSON."""

import collections
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MISSING = "int16,uint16,uint32,uint64,complex64,complex128"
# Files of the suite with what assumes a complex type, and what does not.
CORRECTIONS = {
    "dtype_helpers.py": ("for dt in complex_dtypes], key=lambda x: x[1]\n)", "for dt in complex_dtypes], key=lambda x: x[1], default=(None, 0)\n)"),
    "test_signatures.py": ("dh.dtype_to_name[dh.widest_complex_dtype]", 'dh.dtype_to_name.get(dh.widest_complex_dtype, "complex64")'),
    "test_special_cases.py": ("            dtype = dh.widest_complex_dtype\n", "            dtype = dh.widest_complex_dtype\n            if dtype is None:\n"
                              '                pytest.skip("no complex data types to draw from")\n'),
}
OF_TYPES = ("data types to draw from", "takes complex numbers")
FFT = ("fft ifft fftn ifftn rfft irfft rfftn irfftn hfft ihfft fftfreq rfftfreq fftshift ifftshift").split()
# Tests that are skipped, with the reason.
SKIPPED = {f"array_api_tests/test_has_names.py::test_has_names[fft-{name}]": "fft not found in array module" for name in FFT} | {
    "array_api_tests/test_linalg.py::test_vecdot_conj": "takes complex numbers",
    "array_api_tests/test_dlpack.py::test_dunder_dlpack": "arrays are read-only, which old capsules cannot say without a copy",
}


def prepared(suite: Path, folder: Path) -> Path:
    """A copy of the suite that runs without complex types."""
    copy = folder / "suite"
    shutil.copytree(suite, copy, ignore=shutil.ignore_patterns(".git", ".hypothesis"))
    for name, (before, after) in CORRECTIONS.items():
        file = copy / "array_api_tests" / name
        text = file.read_text()
        if before not in text:
            print(f"array-api-tests: {name} has changed: no correction")
        file.write_text(text.replace(before, after))
    return copy


def is_of_types(reason: str) -> bool:
    return any(part in reason for part in OF_TYPES)


def run(suite: Path, examples: int) -> dict[str, int]:
    with tempfile.TemporaryDirectory() as folder:
        copy, report, skipped = prepared(suite, Path(folder)), Path(folder) / "report.json", Path(folder) / "skips.txt"
        skipped.write_text("".join(f"{name}\n" for name in SKIPPED))
        environment = {**os.environ, "ARRAY_API_TESTS_MODULE": "vectis.array", "ARRAY_API_TESTS_SKIP_DTYPES": MISSING}
        subprocess.run([sys.executable, "-m", "pytest", "array_api_tests", "-q", "-p", "no:cacheprovider", "--tb=no", "-rN",
                        f"--hypothesis-max-examples={examples}", f"--skips-file={skipped}", "--json-report", f"--json-report-file={report}"], cwd=copy,
                       env=environment, check=False, stdout=subprocess.DEVNULL)
        tests = json.loads(report.read_text())["tests"]
    skips: collections.Counter[str] = collections.Counter()
    for test in tests:
        if test["outcome"] == "skipped":
            reason = next(phase["longrepr"] for phase in (test.get("setup"), test.get("call")) if phase and "longrepr" in phase)
            skips[SKIPPED.get(test["nodeid"]) or reason.rsplit("Skipped: ", 1)[-1].rstrip(")'\"")] += 1
        elif test["outcome"] not in ("passed", "xpassed"):
            message = test.get("call", {}).get("crash", {}).get("message", "no message").splitlines()[0]
            print(f"{test['outcome']}: {test['nodeid']}: {message}")
    for reason, count in skips.most_common():
        print(f"skipped {count}: {reason}")
    outcomes = collections.Counter(test["outcome"] for test in tests)
    other = sum(count for reason, count in skips.items() if not is_of_types(reason))
    return {"passed": outcomes["passed"], "skipped": other, "of types": sum(skips.values()) - other,
            "failed": sum(count for outcome, count in outcomes.items() if outcome not in ("passed", "xpassed", "skipped"))}


if __name__ == "__main__":
    place = os.environ.get("ARRAY_API_TESTS_PATH")
    if not place:
        raise SystemExit("array-api-tests: set ARRAY_API_TESTS_PATH to a clone of data-apis/array-api-tests")
    print(json.dumps(run(Path(place), int(os.environ.get("VECTIS_TEST_RUNS", "100")))))
