"""`./dev test`: the phases that CI runs, in order, each with its time; stops at the first that fails."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tools import seed

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build"
CTEST = ["ctest", "--output-on-failure", "--no-tests=error", "-j2"]
SYMBOLIZER = Path("/usr/lib/llvm-19/bin/llvm-symbolizer")


class Failed(Exception):
    """A command of a phase failed."""


def run(*command: object, env: dict[str, str] | None = None, tail: int = 0) -> str:
    """Runs a command with its output shown; returns its last `tail` lines."""
    process = subprocess.Popen([str(word) for word in command], cwd=ROOT, env={**os.environ, **(env or {})},
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    lines = []
    for line in process.stdout:
        print(line, end="", flush=True)
        lines.append(line)
    if process.wait() != 0:
        raise Failed(f"{' '.join(str(word) for word in command)} ended with {process.returncode}")
    return "".join(lines[len(lines) - tail:] if tail else [])


def sanitizer_environment() -> dict[str, str]:
    """Options for every sanitizer. A suppression file is used when it is there."""
    common = f"external_symbolizer_path={SYMBOLIZER}" if SYMBOLIZER.is_file() else "symbolize=1"

    def with_suppressions(options: str, name: str) -> str:
        file = ROOT / "tests" / name
        return f"{options}:suppressions={file}" if file.is_file() else options

    return {
        "ASAN_OPTIONS": f"{common}:detect_leaks=1:detect_stack_use_after_return=1:strict_string_checks=1",
        "LSAN_OPTIONS": with_suppressions("print_suppressions=0", "lsan.supp"),
        "UBSAN_OPTIONS": f"{common}:print_stacktrace=1",
        "TSAN_OPTIONS": with_suppressions(f"{common}:halt_on_error=1:second_deadlock_stack=1", "tsan.supp"),
    }


def build(preset: str, *targets: str) -> None:
    """All of it, or only these targets."""
    run(ROOT / "dev", "build", preset, *targets)


def build_and_ctest(preset: str, *options: str) -> str:
    build(preset)
    output = run(*CTEST, "--test-dir", BUILD / preset, *options, env=sanitizer_environment(), tail=40)
    closing = output.find("% tests passed")
    return output[output.rfind("\n", 0, closing) + 1:] if closing >= 0 else ""


def minimal() -> str:
    build("minimal")
    run(BUILD / "minimal" / "bin" / "vectis", "devices")
    return ""


def install() -> str:
    for preset in ("release", "minimal"):
        build(preset)
    return run(sys.executable, "tests/install/run.py", BUILD / "release", BUILD / "minimal", BUILD / "install", tail=1)


def check() -> str:
    run("cmake", "--preset", "dev")  # for clang-tidy: how every file is compiled by itself
    run(sys.executable, "-m", "tools.check")
    return ""


def python_tests() -> str:
    return run(BUILD / "venv" / "bin" / "python", "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/tools", tail=2)


PHASES: dict[str, Callable[[], str]] = {
    "release": lambda: build_and_ctest("release"),
    "asan": lambda: build_and_ctest("asan"),
    "tsan": lambda: build_and_ctest("tsan", "-L", "concurrent"),
    "minimal": minimal,
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
    times, closing = [], []
    for name in names:
        start = time.monotonic()
        print(f"test: {name}", flush=True)
        try:
            closing.append(PHASES[name]())
        except Failed as reason:
            print(f"test: {name} failed: {reason}\nto repeat: VECTIS_TEST_SEED={os.environ['VECTIS_TEST_SEED']} "
                  f"./dev test {name}", file=sys.stderr)
            return 1
        times.append(f"test: {name:8} {time.monotonic() - start:6.1f} s")
    print("", *times, "", "".join(closing), sep="\n", end="")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
