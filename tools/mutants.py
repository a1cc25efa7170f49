"""Mutation testing of the conformance suite: `python3 -m tools.mutants`.

Mutants of bodies and printers (tests/mutants/text.toml) change the text on its way to the OpenCL compiler and need no
build. Mutants of C++ (tests/mutants/source.toml) are built in a copy of the tree and run on the CPU; so are those of the
printers for WebGPU (tests/mutants/webgpu.toml, and what text.toml changes in words that all dialects share), on lavapipe.
A mutant counts as caught only when it was really planted, compiled, and something failed that passes without it.
"""

import argparse
import dataclasses
import os
import random
import shutil
import subprocess
import sys
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path

from tools import webgpu_driver

ROOT = Path(__file__).resolve().parents[1]
LISTS = ROOT / "tests" / "mutants"
OCLGRIND = Path("/usr/lib/oclgrind/liboclgrind-rt-icd.so")
FINDINGS = ("data race", "Invalid read", "Invalid write", "Work-group divergence")
TIMEOUT = 900


@dataclass(frozen=True)
class Mutant:
    name: str
    operation: str
    find: str
    replace: str
    by: str = "suite"  # or oclgrind
    case: str = ""
    file: str = ""  # of a C++ mutant


@dataclass(frozen=True)
class Verdict:
    caught: bool
    how: str


def load(kind: str) -> list[Mutant]:
    with open(LISTS / f"{kind}.toml", "rb") as file:
        return [Mutant(**one) for one in tomllib.load(file)["mutant"]]


def for_webgpu() -> list[Mutant]:
    """The mutants of this kind, plus the text mutants shared by all printers of hand-written kernels."""
    shared = "src/kernel/codegen/prelude.cpp"
    text = (ROOT / shared).read_text()
    return load("webgpu") + [dataclasses.replace(mutant, file=shared) for mutant in load("text") if mutant.find in text]


def choose(mutants: list[Mutant], count: int, seed: int) -> list[Mutant]:
    """All mutants for a count of 0, otherwise a seeded sample of that size."""
    if count == 0 or count >= len(mutants):
        return mutants
    return random.Random(seed).sample(mutants, count)


class Runner:
    """Runs `vectis conformance` of one build folder."""

    def __init__(self, build: Path, seed: int):
        self.build, self.seed = build, seed
        self.work = ROOT / "build" / "mutants"
        self.work.mkdir(parents=True, exist_ok=True)

    def conformance(self, mutant: Mutant, backend: str, variables: dict[str, str]) -> subprocess.CompletedProcess:
        command = [self.build / "bin" / "vectis", "conformance", "--backend", backend, "--slice", "--fail-fast", "--op",
                   mutant.operation, "--seed", str(self.seed)]
        if mutant.case:
            command += ["--case", mutant.case]
        with tempfile.TemporaryDirectory(dir=self.work) as cache:
            environment = {**os.environ, "VECTIS_CACHE_PATH": cache,
                           "VECTIS_BACKEND_PATH": str(self.build / "lib" / "vectis" / "backends"), **variables}
            return subprocess.run(command, env=environment, capture_output=True, text=True, errors="replace",
                                  check=False, timeout=TIMEOUT)

    def driver(self, mutant: Mutant, backend: str) -> dict[str, str]:
        """The environment in which only the driver under test is visible."""
        if backend == "webgpu":
            return webgpu_driver.environment("vulkan")
        if mutant.by != "oclgrind":
            return {"OCL_ICD_VENDORS": "/etc/OpenCL/vendors/pocl.icd", "POCL_MAX_PTHREAD_COUNT": "4",
                    "POCL_CACHE_DIR": str(self.cache_folder())}
        icd = self.work / "oclgrind.icd"
        icd.write_text(f"{OCLGRIND}\n")
        return {"OCL_ICD_VENDORS": str(icd), "OCLGRIND_DATA_RACES": "1", "OCLGRIND_MAX_ERRORS": "20",
                "VECTIS_BACKENDS_OPENCL_CLBLAST": "off"}  # it calls itself a GPU

    def cache_folder(self) -> Path:
        folder = ROOT / "build" / "pocl-cache"  # shared with the tests, so that unmutated kernels compile once
        folder.mkdir(exist_ok=True)
        return folder

    def text(self, mutant: Mutant) -> Verdict:
        with tempfile.NamedTemporaryFile(dir=self.work) as report:
            patch = {"OPENCL_LAYERS": str(self.build / "lib" / "libvectis_opencl_patch_layer.so"),
                     "VECTIS_PATCH_FIND": mutant.find, "VECTIS_PATCH_REPLACE": mutant.replace,
                     "VECTIS_PATCH_REPORT": report.name}
            done = self.conformance(mutant, "opencl", {**self.driver(mutant, "opencl"), **patch})
            planted = bool(Path(report.name).read_text())
        return self.judged(done, planted, mutant)

    def judged(self, done: subprocess.CompletedProcess, planted: bool, mutant: Mutant) -> Verdict:
        said = done.stdout + done.stderr
        if not planted:
            return Verdict(False, "was not planted: the text it changes is not there")
        if "CompileFailed" in said:
            return Verdict(False, "does not compile")
        if mutant.by == "oclgrind":
            found = [finding for finding in FINDINGS if finding in said]
            return Verdict(bool(found), f"Oclgrind: {found[0]}" if found else "MISSED")
        if done.returncode < 0:
            return Verdict(True, f"the program was killed by signal {-done.returncode}")
        if done.returncode == 1 and ": error:" not in said and " failures, seed" in said:
            return Verdict(True, first_failure(done.stdout))
        return Verdict(False, "MISSED" if done.returncode == 0 else f"ended with {done.returncode}: {said[-200:]}")

    def clean(self, mutants: list[Mutant], backend: str) -> list[str]:
        """Cases that fail without a mutant; their failures prove nothing."""
        wrong, seen = [], set()
        for mutant in mutants:
            key = (mutant.operation, mutant.case, mutant.by, bool(mutant.file))
            if key in seen:
                continue
            seen.add(key)
            done = self.conformance(mutant, backend, self.driver(mutant, backend))
            found = mutant.by == "oclgrind" and any(finding in done.stdout + done.stderr for finding in FINDINGS)
            if done.returncode != 0 or found:
                wrong.append(f"{mutant.operation} {mutant.case} fails without a mutant:\n{done.stdout}{done.stderr}")
        return wrong


def first_failure(text: str) -> str:
    """The first line of the first failure, indented below the name of its case."""
    lines = text.splitlines()
    starts = [number for number, line in enumerate(lines) if line.startswith("  ") and number > 0 and lines[number - 1]]
    return lines[starts[0]].strip()[:100] if starts else "failed"


class Tree:
    """A copy of the repository in which C++ mutants are built, with one backend to run them on."""

    def __init__(self, backend: str) -> None:
        self.backend = backend
        self.folder = ROOT / "build" / "mutants" / "tree"
        self.build = ROOT / "build" / "mutants" / ("build" if backend == "cpu" else f"build-{backend}")
        self.targets = ["vectis_cli"] if backend == "cpu" else ["vectis_cli", f"vectis_backend_{backend}"]

    def prepare(self) -> None:
        copy_repository(self.folder)
        subprocess.run(["cmake", "-S", self.folder, "-B", self.build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
                        "-DCMAKE_CXX_FLAGS_RELEASE=-O1", "-DCMAKE_CXX_COMPILER=g++-12", "-DCMAKE_C_COMPILER=gcc-12",
                        "-DVECTIS_TESTS=OFF", "-DVECTIS_BACKEND_OPENCL=OFF",
                        "-DVECTIS_BACKEND_CUDA=OFF", "-DVECTIS_BACKEND_HIP=OFF",
                        *self.webgpu_options(), *launcher()],
                       check=True, capture_output=True)
        self.compile()

    def webgpu_options(self) -> list[str]:
        if self.backend != "webgpu":
            return ["-DVECTIS_BACKEND_WEBGPU=OFF"]
        return ["-DVECTIS_BACKEND_WEBGPU=ON", f"-DWEBGPU_HEADERS={Path(webgpu_driver.library()).parent}"]

    def compile(self) -> None:
        compile_targets(self.build, self.targets)

    def plant(self, runner: Runner, mutant: Mutant) -> Verdict:
        target = self.folder / mutant.file
        text = target.read_text()
        if mutant.find not in text:
            return Verdict(False, "was not planted: the text it changes is not there")
        target.write_text(text.replace(mutant.find, mutant.replace))
        try:
            self.compile()
            done = runner.conformance(mutant, self.backend, runner.driver(mutant, self.backend))
            return runner.judged(done, True, mutant)
        except DoesNotCompile as reason:
            return Verdict(False, f"does not compile: {reason}")
        finally:
            target.write_text(text)


class DoesNotCompile(Exception):
    """The compiler's messages."""


def copy_repository(folder: Path) -> None:
    """Copies the files of the repository that are missing in the folder or differ there."""
    files = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, files.split("\0")):
        source, target = ROOT / name, folder / name
        if not target.is_file() or target.read_bytes() != source.read_bytes():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)  # not copy2: a file of an older time would not be compiled again


def compile_targets(build: Path, targets: list[str]) -> None:
    done = subprocess.run(["ninja", "-C", build, *targets], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise DoesNotCompile(done.stdout[-2000:])


def launcher() -> list[str]:
    if shutil.which("ccache") is None:
        return []
    return ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache", "-DCMAKE_C_COMPILER_LAUNCHER=ccache"]


def report(place: str, name: str, verdict: Verdict) -> None:
    """Prints a line; `place` is the operation or the program of the mutant."""
    print(f"{'caught' if verdict.caught else 'NOT CAUGHT':10}  {place:15}  {name}: {verdict.how}", flush=True)


def text_mutants(build: Path, count: int, seed: int) -> list[Verdict]:
    runner, mutants = Runner(build, seed), choose(load("text"), count, seed)
    for failure in runner.clean(mutants, "opencl"):
        raise SystemExit(f"mutants: {failure}")
    verdicts = []
    for mutant in mutants:
        verdicts.append(runner.text(mutant))
        report(mutant.operation, mutant.name, verdicts[-1])
    return verdicts


def built_mutants(listed: list[Mutant], backend: str, count: int, seed: int) -> list[Verdict]:
    tree, mutants = Tree(backend), choose(listed, count, seed)
    tree.prepare()
    runner = Runner(tree.build, seed)
    for failure in runner.clean(mutants, backend):
        raise SystemExit(f"mutants: {failure}")
    verdicts = []
    for mutant in mutants:
        verdicts.append(tree.plant(runner, mutant))
        report(mutant.operation, mutant.name, verdicts[-1])
    tree.compile()
    return verdicts


def source_mutants(count: int, seed: int) -> list[Verdict]:
    return built_mutants(load("source"), "cpu", count, seed)


def webgpu_mutants(count: int, seed: int) -> list[Verdict]:
    return built_mutants(for_webgpu(), "webgpu", count, seed)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python3 -m tools.mutants", description=__doc__)
    parser.add_argument("kind", choices=("text", "source", "webgpu", "all"))
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "release")
    parser.add_argument("--count", type=int, default=0, help="so many of them, chosen by the seed; 0: all")
    parser.add_argument("--seed", type=int, default=int(os.environ.get("VECTIS_TEST_SEED", "1")))
    arguments = parser.parse_args()
    verdicts: list[Verdict] = []
    if arguments.kind in ("text", "all"):
        verdicts += text_mutants(arguments.build.resolve(), arguments.count, arguments.seed)
    if arguments.kind in ("source", "all"):
        verdicts += source_mutants(arguments.count, arguments.seed)
    if arguments.kind in ("webgpu", "all"):
        verdicts += webgpu_mutants(arguments.count, arguments.seed)
    caught = sum(verdict.caught for verdict in verdicts)
    print(f"{caught} of {len(verdicts)} mutants caught")
    return 0 if caught == len(verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
