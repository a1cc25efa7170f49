"""`./dev test`: the phases that CI runs, in order. Stops at the first that fails. Prints where the time went."""

import hashlib
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tools import seed

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build"
CTEST = ["ctest", "--output-on-failure", "--no-tests=error", "-j2"]
SYMBOLIZER = Path("/usr/lib/llvm-19/bin/llvm-symbolizer")
# Left out of the sanitized build: minutes of PoCL's compiler, for host code that the other devices run as well.
UNSANITIZED = re.compile(r"(arrays|networks)_devices\..*/opencl")
# Programs whose tests take minutes in the sanitized build, 20 times as long as in the release build: each commit runs
# another part of them there.
SLICED = ("any_data", "arrays_devices", "conformance", "conformance_suite", "cuda_hip", "exact_devices", "exact_webgpu",
          "graph_devices", "hostile", "indexes", "ir", "kernel", "kernels", "networks_devices", "operations", "search")
SLICES = 4
SLOWEST = 20
FAILED_TESTS, FAILED_LINES = 8, 25  # what is printed once more of failed tests
# Everything a compile can depend on.
COMPILED = ("src", "include", "backends", "apps", "tests", "examples", "cmake", "CMakeLists.txt", "CMakePresets.json",
            "tools/packages.txt", "tools/compile")


class Failed(Exception):
    """A command of a phase failed; `output` is what it printed."""

    def __init__(self, reason: str, output: str = "") -> None:
        super().__init__(reason)
        self.output = output


# Parts of phases and single tests with the seconds each took, for the closing lines.
part_seconds: list[tuple[str, float]] = []
test_seconds: list[tuple[float, str]] = []


@contextmanager
def timed(part: str) -> Iterator[None]:
    start = time.monotonic()
    yield
    part_seconds.append((part, time.monotonic() - start))


def run(*command: object, env: dict[str, str] | None = None, tail: int = 0) -> str:
    """Runs a command and shows its output; returns the last `tail` lines of it."""
    process = subprocess.Popen([str(word) for word in command], cwd=ROOT, env={**os.environ, **(env or {})},
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    lines = []
    for line in process.stdout:
        print(line, end="", flush=True)
        lines.append(line)
    if process.wait() != 0:
        raise Failed(f"{' '.join(str(word) for word in command)} ended with {process.returncode}", "".join(lines))
    return "".join(lines[len(lines) - tail:] if tail else [])


def sanitizer_environment() -> dict[str, str]:
    """Options for every sanitizer. A suppression file is used when it is there."""
    common = f"external_symbolizer_path={SYMBOLIZER}" if SYMBOLIZER.is_file() else "symbolize=1"

    def with_suppressions(options: str, name: str) -> str:
        file = ROOT / "tests" / name
        return f"{options}:suppressions={file}" if file.is_file() else options

    # LLVM inside PoCL replaces the alternate signal stack of the thread that loads it, which AddressSanitizer would then
    # unmap at the end of that thread.
    return {
        "ASAN_OPTIONS": f"{common}:use_sigaltstack=0:detect_leaks=1:detect_stack_use_after_return=1:strict_string_checks=1",
        "LSAN_OPTIONS": with_suppressions("print_suppressions=0", "lsan.supp"),
        "UBSAN_OPTIONS": f"{common}:print_stacktrace=1",
        "VECTIS_TEST_SCHEDULE": os.environ.get("VECTIS_TEST_SCHEDULE", os.environ.get("VECTIS_TEST_SEED", "1")),
        "TSAN_OPTIONS": with_suppressions(f"{common}:halt_on_error=1:second_deadlock_stack=1", "tsan.supp"),
    }


def build(preset: str, *targets: str) -> None:
    """All of it, or only these targets."""
    run(ROOT / "dev", "build", preset, *targets)


def build_and_ctest(preset: str, options: Callable[[], list[str]] = list) -> str:
    """Builds and runs tests; `options` gives those of ctest, once the tests are known."""
    with timed(f"{preset} build"):
        build(preset)
    with timed(f"{preset} tests"):
        output = run(*CTEST, "--test-dir", BUILD / preset, *options(), env=sanitizer_environment(), tail=100_000)
    test_seconds.extend((seconds, f"{preset}: {name}") for name, seconds in ctest_times(output))
    closing = output.find("% tests passed")
    return output[output.rfind("\n", 0, closing) + 1:] if closing >= 0 else ""


def sanitized(names: Sequence[str], chosen_seed: int) -> list[int]:
    """The numbers, from 1, of the tests that the sanitized build runs: of sliced programs those that the seed chooses."""
    def runs(test: str) -> bool:
        name = test.partition("  #")[0]  # GoogleTest appends the parameter, which may be an address
        if UNSANITIZED.match(name):
            return False
        drawn = hashlib.sha256(f"{chosen_seed} {name}".encode()).digest()[0]
        return name.partition(".")[0] not in SLICED or drawn % SLICES == 0

    return [number for number, name in enumerate(names, 1) if runs(name)]


def sanitized_tests() -> list[str]:
    """The options of ctest for the tests that the sanitized build runs."""
    listed = subprocess.run([CTEST[0], "--test-dir", BUILD / "asan", "--show-only=json-v1"], capture_output=True,
                            text=True, check=True).stdout
    names = [test["name"] for test in json.loads(listed)["tests"]]
    numbers = sanitized(names, seed.chosen(ROOT))
    print(f"test: asan runs {len(numbers)} of {len(names)} tests", flush=True)
    chosen = BUILD / "asan" / "chosen-tests.txt"
    chosen.write_text(",".join(map(str, [0, 0, 0, *numbers])))  # without a range
    return ["-I", str(chosen)]


def ctest_times(output: str) -> list[tuple[str, float]]:
    """Name and seconds of every test in what ctest printed."""
    return [(name, float(seconds)) for name, seconds in
            re.findall(r"Test +#\d+: (.+?) \.+.*? ([\d.]+) sec$", output, re.MULTILINE)]


def failed_tests(output: str) -> str:
    """The last lines that each failed test printed, out of what ctest printed: CI shows the end of its log alone."""
    found = re.findall(r"^ *\d+/\d+ Test +#\d+: [^\n]+\*\*\*.*?(?=^ *\d+/\d+ Test |^ +Start +\d+: |^\d+% tests passed|\Z)",
                       output, re.MULTILINE | re.DOTALL)
    return "\n".join("\n".join([*test.splitlines()[:1], *test.splitlines()[1:][-FAILED_LINES:]])
                     for test in found[:FAILED_TESTS] if "***Skipped" not in test.splitlines()[0])


def compiled_inputs() -> str:
    """A digest of every file that a compile depends on, as it is in the working tree."""
    command = ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard", *COMPILED]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    digest = hashlib.sha256()
    for name in sorted(set(names)):
        if (ROOT / name).is_file():
            digest.update(name.encode() + b"\0" + (ROOT / name).read_bytes() + b"\0")
    return digest.hexdigest()


def debug() -> str:
    """Compiles library and command of the debug build, unless the same inputs compiled before on this machine."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    record, inputs = cache / "vectis-dev" / "debug-compiled", compiled_inputs()
    if record.is_file() and record.read_text() == inputs:
        print("test: debug: these inputs have compiled before")
        return ""
    build("debug", "vectis", "vectis_cli")
    record.parent.mkdir(parents=True, exist_ok=True)
    record.write_text(inputs)
    return ""


def minimal() -> str:
    build("minimal")
    run(BUILD / "minimal" / "bin" / "vectis", "devices")
    return ""


def install() -> str:
    for preset in ("release", "minimal"):
        build(preset)
    return run(sys.executable, "tests/install/run.py", BUILD / "release", BUILD / "minimal", BUILD / "install", tail=1)


def check() -> str:
    run("cmake", "--preset", "dev")  # clang-tidy needs the command that compiles each file alone
    run(sys.executable, "-m", "tools.check")
    return ""


def python() -> str:
    """Packages the release build as a wheel and tests it where only the wheel is installed."""
    return run(sys.executable, "-m", "tools.wheel", tail=1)


def python_tests() -> str:
    return run(BUILD / "venv" / "bin" / "python", "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/tools", tail=2)


PHASES: dict[str, Callable[[], str]] = {
    "release": lambda: build_and_ctest("release"),
    "python": python,
    "asan": lambda: build_and_ctest("asan", sanitized_tests),
    "tsan": lambda: build_and_ctest("tsan", lambda: ["-L", "concurrent"]),
    "minimal": minimal,
    "debug": debug,
    "install": install,
    "check": check,
    "tools": python_tests,
}


def main(arguments: list[str]) -> int:
    names = ["release"] if arguments == ["quick"] else arguments or list(PHASES)
    unknown = [name for name in names if name not in PHASES]
    if unknown:
        print(f"./dev test: no phase {' '.join(unknown)}; there are: quick {' '.join(PHASES)}", file=sys.stderr)
        return 2
    os.environ["VECTIS_TEST_SEED"] = str(seed.chosen(ROOT))
    print(f"test: VECTIS_TEST_SEED={os.environ['VECTIS_TEST_SEED']}", flush=True)
    closing = []
    for name in names:
        start = time.monotonic()
        print(f"test: {name}", flush=True)
        try:
            closing.append(PHASES[name]())
        except Failed as reason:
            print(failed_tests(reason.output), f"test: {name} failed: {reason}",
                  f"to reproduce: VECTIS_TEST_SEED={os.environ['VECTIS_TEST_SEED']} ./dev test {name}", sep="\n",
                  file=sys.stderr)
            return 1
        part_seconds.append((name, time.monotonic() - start))
    print_times()
    print("", "".join(closing), sep="\n", end="")
    return 0


def print_times() -> None:
    """The slowest tests, then every phase with its parts before it, then the sum of the phases."""
    print(f"\ntest: the {SLOWEST} slowest tests")
    for seconds, name in sorted(test_seconds, reverse=True)[:SLOWEST]:
        print(f"test: {seconds:8.1f} s  {name}")
    print("test: where the time went")
    for name, seconds in part_seconds:
        print(f"test: {seconds:8.1f} s  {'' if name in PHASES else '  '}{name}")
    print(f"test: {sum(seconds for name, seconds in part_seconds if name in PHASES):8.1f} s  all phases")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
