"""Mutation testing of the CUDA plug-in's host code against the test driver:
`python3 -m tools.cuda_hip_mutants [--count N] [--build FOLDER]`.

Mutants (tests/mutants/cuda_hip.toml) are compiled into a plug-in of their own, and the tests of the build run on it. One
counts as caught only when it was planted, compiled, and a test failed that passes without it.
"""

import argparse
import json
import os
import shlex
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

from tools import mutants, seed

ROOT = Path(__file__).resolve().parents[1]
LIST = ROOT / "tests" / "mutants" / "cuda_hip.toml"
TIMEOUT = 300
# Fastest first; a mutant is caught by the first program that fails.
PROGRAMS = (("cuda_plugin_test", "*"), ("devices_test", "*cuda*"), ("cuda_hip_search_test", "*cuda*"))


@dataclass(frozen=True)
class Mutant:
    name: str
    file: str
    find: str
    replace: str
    by: str = ""  # the program that must fail; empty: any


def load() -> list[Mutant]:
    with open(LIST, "rb") as file:
        return [Mutant(**one) for one in tomllib.load(file)["mutant"]]


class Plugin:
    """The plug-in of a build folder, whose sources can be recompiled one at a time."""

    def __init__(self, build: Path, folder: Path):
        self.build, self.folder = build, folder
        commands = json.loads((build / "compile_commands.json").read_text())
        self.command = next(one for one in commands if "vectis_backend_cuda.dir" in one["command"])
        self.sources = [str(file.relative_to(ROOT)) for name in ("cuda", "cuda_hip")
                        for file in sorted((ROOT / "backends" / name).glob("*.cpp"))]
        folder.mkdir(parents=True, exist_ok=True)

    def compile(self, name: str, source: Path, target: Path) -> bool:
        """Compiles `source` in place of the file `name`, with the flags of the build."""
        words = shlex.split(self.command["command"])
        words[words.index("-o") + 1] = str(target)
        words[words.index("-c") + 1] = str(source)
        for option in ("-MD", "-MT", "-MF"):
            if option in words:
                at = words.index(option)
                del words[at:at + (1 if option == "-MD" else 2)]
        words += ["-I", str((ROOT / name).parent)]
        return subprocess.run(words, cwd=self.command["directory"], capture_output=True, check=False).returncode == 0

    def objects(self) -> dict[str, Path]:
        """The compiled original sources."""
        made = {name: self.folder / (name.replace("/", "_") + ".o") for name in self.sources}
        for name, target in made.items():
            if not self.compile(name, ROOT / name, target):
                raise RuntimeError(f"{name} does not compile")
        return made

    def link(self, objects: dict[str, Path]) -> Path:
        library = self.folder / "backends" / "libvectis_backend_cuda.so"
        library.parent.mkdir(exist_ok=True)
        library.unlink(missing_ok=True)
        embedded = sorted(self.build.glob("backends/cuda_hip/cuda/ptx/CMakeFiles/vectis_cuda_kernels.dir/**/*.o"))
        subprocess.run(["g++-12", "-shared", "-o", library, *objects.values(), *embedded], check=True)
        return library

    def first_failure(self, library: Path, by: str = "") -> str | None:
        environment = {**os.environ, "VECTIS_PLUGIN_UNDER_TEST": str(library),
                       "VECTIS_BACKEND_PATH": f"{library.parent}:{self.build}/lib/vectis/test-backends"}
        for program, pattern in PROGRAMS:
            if by not in ("", program):
                continue
            try:
                done = subprocess.run([self.build / "bin" / program, f"--gtest_filter={pattern}"], env=environment,
                                      capture_output=True, check=False, timeout=TIMEOUT)
            except subprocess.TimeoutExpired:
                return f"{program} timed out"
            if done.returncode != 0:
                return f"{program}, status {done.returncode}"
        return None


def run(build: Path, count: int) -> tuple[int, int]:
    """Returns the number of mutants and how many were caught."""
    plugin = Plugin(build, build / "cuda-hip-mutants")
    objects = plugin.objects()
    failure = plugin.first_failure(plugin.link(objects))
    if failure is not None:
        raise RuntimeError(f"the plug-in without a mutant fails: {failure}")
    chosen = mutants.choose(load(), count, seed.chosen(ROOT))
    caught = 0
    for mutant in chosen:
        text = (ROOT / mutant.file).read_text()
        if text.count(mutant.find) < 1:
            print(f"{mutant.name}: not found in {mutant.file}", flush=True)
            continue
        source, target = plugin.folder / "mutant.cpp", plugin.folder / "mutant.o"
        source.write_text(text.replace(mutant.find, mutant.replace))
        if not plugin.compile(mutant.file, source, target):
            print(f"{mutant.name}: does not compile", flush=True)
            continue
        how = plugin.first_failure(plugin.link({**objects, mutant.file: target}), mutant.by)
        caught += how is not None
        print(f"{mutant.name}: {'caught by ' + how if how else 'SURVIVED'}", flush=True)
    return len(chosen), caught


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=0, help="as many, drawn by the seed; 0: all")
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "release")
    arguments = parser.parse_args()
    planted, caught = run(arguments.build.resolve(), arguments.count)
    print(f"{caught} of {planted} mutants caught")
    return 0 if planted == caught else 1


if __name__ == "__main__":
    sys.exit(main())
