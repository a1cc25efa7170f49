"""`./dev soak python`: the Python module at full count, written to docs/evidence/python.json.

The cell "fresh Debian" needs root and debootstrap, and "PyTorch" installs 6 GB. Cells that take times want a machine with
nothing else to do."""

import functools
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from tools import suite, wheel
from tools.evidence import Figure, Measurement, output_of, run_soak

ROOT = Path(__file__).resolve().parents[2]
EXACT_BENCH = ROOT / "build" / "release" / "bin" / "exact_bench"
TORCH = ROOT / "build" / "torch-venv"  # the wheel and PyTorch
CALLS = 100_000
TRIES = 200
ADDER_SECONDS = 60
IMPORTS = 21
PLAIN = {"PATH": "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LANG": "C.UTF-8"}
# What a user does first; every line has to succeed. No package index: whatever the wheel needs has to be there.
FIRST_STEPS = {
    "installation": "pip install --break-system-packages --no-index --quiet /{wheel}",
    "import": "cd / && python3 -c 'import vectis; print(vectis.__version__)'",
    "command": "vectis devices",
    "doctor": "vectis doctor",
}


@contextmanager
def debian() -> Iterator[Path]:
    """A fresh Debian of this machine's release with Python, pip and NumPy, removed at the end."""
    archive, codename = output_of(sys.executable, "-m", "tools.setup.archive", root=ROOT).split()
    parent = ROOT / "build" / "soak"
    parent.mkdir(parents=True, exist_ok=True)
    system = Path(tempfile.mkdtemp(dir=parent))
    try:
        output_of("debootstrap", "--variant=minbase", "--include=python3,python3-pip,python3-numpy", codename, system,
                  archive, root=ROOT)
        # The loader resolves $ORIGIN of a program by /proc/self/exe.
        output_of("mount", "-t", "proc", "proc", system / "proc", root=ROOT)
        yield system
    finally:
        # Also those that debootstrap leaves mounted when it fails.
        for mounted in (system / "proc", system / "sys"):
            if os.path.ismount(mounted):
                output_of("umount", "-l", mounted, root=ROOT)
        output_of("rm", "-rf", "--one-file-system", system, root=ROOT)


@dataclass(frozen=True)
class Tests:
    """What pytest reports: how many times each test function passed, and the properties that its runs recorded."""

    passed: dict[str, int]
    properties: dict[str, list[float]]

    @property
    def count(self) -> int:
        return sum(self.passed.values())


def read_report(path: Path) -> Tests:
    """Reads what pytest writes with --junitxml."""
    passed: dict[str, int] = {}
    properties: dict[str, list[float]] = {}
    for case in ElementTree.parse(path).iter("testcase"):
        if any(case.find(outcome) is not None for outcome in ("skipped", "failure", "error")):
            continue
        name = case.get("name", "").partition("[")[0]
        passed[name] = passed.get(name, 0) + 1
        for entry in case.iter("property"):
            properties.setdefault(entry.get("name", ""), []).append(float(entry.get("value", "nan")))
    return Tests(passed, properties)


@functools.cache
def made_wheel() -> Path:
    suite.build("release", "vectis_wheel", "exact_bench")
    return wheel.make()


@functools.cache
def peers() -> Path:
    """The Python of an environment with the wheel and with the libraries that vectis.compat stands for."""
    wheel.install(wheel.PEERS, made_wheel(), *wheel.TEST_PACKAGES, "-r", wheel.COMPAT / "requirements.txt")
    return wheel.PEERS / "bin" / "python"


def run_tests(python: Path, tests: str, **environment: object) -> Tests:
    """Runs tests of the wheel. One that fails ends the soak."""
    with tempfile.NamedTemporaryFile(suffix=".xml") as report:
        output_of(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "junit_family=xunit1", "--junitxml",
                  report.name, wheel.TESTS / tests, root=ROOT,
                  env={name: str(value) for name, value in environment.items()})
        return read_report(Path(report.name))


def last_line(*command: object) -> object:
    """The JSON that a command prints at last."""
    return json.loads(output_of(peers(), *command, root=ROOT).splitlines()[-1])


def fresh_debian() -> list[Figure]:
    """A fresh Debian with only Python and NumPy, both Debian's own, installs the wheel and uses it."""
    if os.geteuid() != 0 or shutil.which("debootstrap") is None:
        raise SystemExit("soak: needs root and debootstrap; run: apt-get install debootstrap")
    made = made_wheel()
    with debian() as system:
        shutil.copy(made, system)
        for step, line in FIRST_STEPS.items():
            print(f"soak: {step}", flush=True)
            output_of("env", "-i", *(f"{name}={value}" for name, value in PLAIN.items()), "chroot", system, "sh", "-c",
                      line.format(wheel=made.name), root=ROOT)
    # A step that fails ends the soak.
    return [Figure.measured("first steps that succeed on a fresh Debian", len(FIRST_STEPS), "steps",
                            f"== {len(FIRST_STEPS)}")]


def imports() -> list[Figure]:
    """Elapsed time of `import vectis` where NumPy is imported, and the size of the wheel."""

    def milliseconds(program: str) -> float:
        start = time.perf_counter()
        subprocess.run([peers(), "-c", program], cwd="/", env=PLAIN, check=True)
        return 1e3 * (time.perf_counter() - start)

    programs = ("import numpy", "import numpy, vectis")
    for program in programs:
        milliseconds(program)  # reads the files into the page cache
    alone, both = zip(*([milliseconds(program) for program in programs] for _ in range(IMPORTS)))
    beyond = statistics.median(after - before for before, after in zip(alone, both))
    print(f"soak: import numpy {statistics.median(alone):.1f} ms, with vectis {statistics.median(both):.1f} ms")
    return [Figure.measured("import vectis beyond NumPy", round(beyond, 1), "ms", "<= 60"),
            Figure.measured("size of the wheel", round(made_wheel().stat().st_size / 1e6, 1), "MB",
                            f"<= {wheel.MAX_MEGABYTES}")]


def growth() -> list[Figure]:
    """Calls of each kind, objects made and dropped."""
    kinds = run_tests(peers(), "test_growth.py", VECTIS_TEST_CALLS=CALLS).passed["test_memory_does_not_grow"]
    return [Figure.measured(f"kinds of calls without growth of memory in {CALLS:,}", kinds, "kinds", ">= 19")]


def processes() -> list[Figure]:
    """Signals, forks, and the end of the interpreter with work in flight."""
    tests = run_tests(peers(), "test_calls.py", VECTIS_TEST_TRIES=TRIES).count
    return [Figure.measured(f"tests of signals, forks and exits that pass in {TRIES} tries", tests, "tests", ">= 24")]


def overhead() -> list[Figure]:
    found = last_line(ROOT / "tools" / "bench" / "python_overhead.py", EXACT_BENCH)
    return [Figure.measured("overhead of a search of one query over C++", round(found["overhead"], 2), "us", "<= 5"),
            Figure.measured("the same over FAISS's own wrapper", round(found["overhead"] / found["FAISS's wrapper"], 2),
                            "times", "<= 1")]


def threads() -> list[Figure]:
    """Single queries to a graph by 8 threads, in turns with C++."""
    found = last_line("-m", "tools.bench.python_threads", EXACT_BENCH)
    return [Figure.measured(f"scaling of {found['threads']} Python threads over that of C++", round(found["ratio"], 3), "times",
                            ">= 0.95")]


def adder() -> list[Figure]:
    """8 threads that search while one adds. A wrong answer or a deadlock ends the soak."""
    seen = run_tests(peers(), "test_threads.py", VECTIS_TEST_SECONDS=ADDER_SECONDS).properties
    return [Figure.measured(f"right answers of 8 threads beside an adder in {ADDER_SECONDS} s", sum(seen["searches"]),
                            "searches", ">= 1000"),
            Figure.measured("the longest of these searches", round(max(seen["longest_wait_ms"]), 1), "ms", "<= 100")]


def comparisons() -> list[Figure]:
    """The tests of vectis.compat that run the same code with the real packages, and those packages' tutorials."""
    tests = run_tests(peers(), "compat")
    compared = sum(count > 0 for count in tests.properties["comparisons"])
    return [Figure.measured("behaviors equal to FAISS's and hnswlib's", compared, "behaviors", ">= 40"),
            Figure.measured("tutorials of both that print the same", tests.passed["test_scripts_run_unchanged"], "scripts",
                            "== 5")]


def flat_speed() -> list[Figure]:
    (pair,) = last_line("-m", "tools.bench.python", "--graph-rows")
    return [Figure.measured("compat, 1M × 128 flat, batch 1,000, over FAISS", round(pair["speed"], 2), "times", ">= 8")]


def graph_speed() -> list[Figure]:
    found = last_line("-m", "tools.bench.python", "--flat-rows")
    return [Figure.measured(f"compat, 100k × 128 graph, recall {pair['wanted recall']}, over {pair['peer']}",
                            round(pair["speed"], 2), "times", ">= 1.2") for pair in found]


def pinned(package: str, requirements: str) -> str:
    """The line of a file of requirements in tools that pins a package."""
    lines = (ROOT / "tools" / requirements).read_text().splitlines()
    return next(line for line in lines if line.startswith(f"{package}=="))


def tensors() -> list[Figure]:
    """Tensors of PyTorch as vectors, queries and ids, and answers as tensors."""
    # PyTorch cannot be imported without CUDA's libraries, and needs other versions of them than we pin.
    wheel.install(TORCH, made_wheel(), pinned("numpy", "requirements.txt"), pinned("pytest", "requirements.txt"),
                  pinned("torch", "bench/requirements-exact.txt"), pins=())
    tests = run_tests(TORCH / "bin" / "python", "test_torch.py").count
    return [Figure.measured("tests of PyTorch's tensors that pass", tests, "tests", ">= 20")]


MEASUREMENTS: dict[str, Measurement] = {
    "fresh Debian": fresh_debian, "import": imports, "overhead": overhead, "threads": threads, "adder": adder,
    "comparisons": comparisons, "flat speed": flat_speed, "graph speed": graph_speed, "growth": growth,
    "signals, forks and exits": processes, "PyTorch": tensors,
}


if __name__ == "__main__":
    sys.exit(run_soak("python", ROOT, MEASUREMENTS))
