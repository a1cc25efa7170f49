"""`./dev soak python`: the Python module at full count, written to docs/evidence/python.json.

The cell "fresh Debian" needs root and debootstrap; "overhead" wants a machine with nothing else to do."""

import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tools import suite, wheel
from tools.evidence import Figure, Measurement, output_of, run_soak

ROOT = Path(__file__).resolve().parents[2]
CALLS = 100_000
TRIES = 200
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


def fresh_debian() -> list[Figure]:
    """A fresh Debian with only Python and NumPy, both Debian's own, installs the wheel and uses it."""
    if os.geteuid() != 0 or shutil.which("debootstrap") is None:
        raise SystemExit("soak: needs root and debootstrap; run: apt-get install debootstrap")
    suite.build("release", "vectis_wheel")
    made = wheel.make()
    with debian() as system:
        shutil.copy(made, system)
        for step, line in FIRST_STEPS.items():
            print(f"soak: {step}", flush=True)
            output_of("env", "-i", *(f"{name}={value}" for name, value in PLAIN.items()), "chroot", system, "sh", "-c",
                      line.format(wheel=made.name), root=ROOT)
    # A step that fails ends the soak.
    return [Figure.measured("first steps that succeed on a fresh Debian", len(FIRST_STEPS), "steps",
                            f"== {len(FIRST_STEPS)}"),
            Figure.measured("size of the wheel", round(made.stat().st_size / 1e6, 1), "MB", f"<= {wheel.MAX_MEGABYTES}")]


def wheel_environment() -> Path:
    """An environment with the wheel and with the libraries that vectis.compat stands for."""
    suite.build("release", "vectis_wheel")
    wheel.install(wheel.PEERS, wheel.make(), *wheel.TEST_PACKAGES, "-r", wheel.COMPAT / "requirements.txt")
    return wheel.PEERS


def passed(test: str, **environment: int) -> int:
    """Runs a test file with the wheel; returns how many tests passed. One that fails ends the soak."""
    output = output_of(wheel_environment() / "bin" / "python", "-m", "pytest", "-q", "-p", "no:cacheprovider",
                       wheel.TESTS / test, root=ROOT, env={name: str(value) for name, value in environment.items()})
    return int(re.search(r"^(\d+) passed", output, re.MULTILINE).group(1))


def growth() -> list[Figure]:
    """Calls of each kind, objects made and dropped."""
    kinds = passed("test_growth.py", VECTIS_TEST_CALLS=CALLS) - 1  # one test is about objects left at the end
    return [Figure.measured(f"kinds of calls without growth of memory in {CALLS:,}", kinds, "kinds", ">= 19")]


def processes() -> list[Figure]:
    """Signals, forks, and the end of the interpreter with work in flight."""
    tests = passed("test_calls.py", VECTIS_TEST_TRIES=TRIES)
    return [Figure.measured(f"tests of signals, forks and exits that pass in {TRIES} tries", tests, "tests", ">= 24")]


def overhead() -> list[Figure]:
    suite.build("release", "exact_bench")
    text = output_of(wheel_environment() / "bin" / "python", ROOT / "tools" / "bench" / "python_overhead.py",
                     ROOT / "build" / "release" / "bin" / "exact_bench", root=ROOT)
    found = json.loads(text.splitlines()[-1])
    return [Figure.measured("overhead of a search of one query over C++", round(found["overhead"], 2), "us", "<= 5"),
            Figure.measured("the same over FAISS's own wrapper", round(found["overhead"] / found["FAISS's wrapper"], 2),
                            "times", "<= 1")]


MEASUREMENTS: dict[str, Measurement] = {
    "fresh Debian": fresh_debian, "overhead": overhead, "growth": growth, "signals, forks and exits": processes,
}


if __name__ == "__main__":
    sys.exit(run_soak("python", ROOT, MEASUREMENTS))
