"""Adds an operation to a copy of the tree, in the three files CONTRIBUTING.md names, and checks that it passes conformance.

`python3 -m tools.add_operation` builds the copy and runs the suite on cpu and opencl; with `--compile` it only sees that
the build finds the three files and that they compile. The copy stays in build/add-operation, so that the next run
compiles only what changed since.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

FOLDER = Path("build/add-operation")
# Target of each template in tests/add_operation: every file a new operation touches.
PLACES = {
    "operation.cpp.in": "src/kernel/operations/halve.cpp",
    "cpu.cpp.in": "backends/cpu/operations/halve.cpp",
    "conformance.cpp.in": "src/kernel/conformance/halve.cpp",
}
# The objects of these files, and of the registries that must list the operation.
OBJECTS = (
    "src/kernel/CMakeFiles/vectis_kernel.dir/operations/halve.cpp.o",
    "src/kernel/CMakeFiles/vectis_kernel.dir/operations/registry.cpp.o",
    "src/kernel/CMakeFiles/vectis_conformance_suite.dir/conformance/halve.cpp.o",
    "src/kernel/CMakeFiles/vectis_conformance_suite.dir/conformance/suite/suite.cpp.o",
    "backends/cpu/CMakeFiles/vectis_backend_cpu.dir/operations/halve.cpp.o",
    "backends/cpu/CMakeFiles/vectis_backend_cpu.dir/operations/registry.cpp.o",
)


class Failed(Exception):
    """A command failed; the text is its output."""


def run(*command: str | Path, environment: dict[str, str] | None = None) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode != 0:
        words = (done.stdout + done.stderr).strip()[-2000:]
        raise Failed(f"{' '.join(map(str, command))} ended with {done.returncode}:\n{words}")
    return done.stdout


def copy(source: Path, target: Path) -> None:
    """Copies a file unless the target has the same content, so that the build does not see it as changed."""
    if target.is_file() and target.read_bytes() == source.read_bytes():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


def make_copy(root: Path, tree: Path) -> None:
    listed = run("git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0")
    files = {name for name in listed if name and (root / name).is_file()}
    for name in files:
        copy(root / name, tree / name)
    for file in [file for file in tree.rglob("*") if file.is_file()]:
        if str(file.relative_to(tree)) not in files | set(PLACES.values()):
            file.unlink()
    for name, place in PLACES.items():
        copy(root / "tests" / "add_operation" / name, tree / place)


def configure(tree: Path, build: Path) -> None:
    run("cmake", "-S", tree, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_FLAGS_RELEASE=-O1",
        "-DCMAKE_CXX_COMPILER=g++-12", "-DCMAKE_C_COMPILER=gcc-12", "-DVECTIS_TESTS=OFF")


def compile_parts(build: Path) -> None:
    run("ninja", "-C", build, *OBJECTS)


def conform(root: Path, build: Path) -> None:
    """The whole suite of the operation on both backends."""
    run("ninja", "-C", build, "vectis_cli", "vectis_backend_opencl")
    environment = os.environ | {
        "OCL_ICD_VENDORS": "/etc/OpenCL/vendors/pocl.icd",
        "POCL_CACHE_DIR": str(root / FOLDER / "pocl-cache"),
        "VECTIS_BACKEND_PATH": str(build / "lib" / "vectis" / "backends"),
    }
    (root / FOLDER / "pocl-cache").mkdir(exist_ok=True)
    for backend in ("cpu", "opencl"):
        said = run(build / "bin" / "vectis", "conformance", "--backend", backend, "--op", "halve", environment=environment)
        if " 0 failures" not in said or "halve" not in said:
            raise Failed(f"conformance on {backend} printed:\n{said}")
        print(f"add_operation: {said.strip().splitlines()[-1]}")


def main(arguments: list[str]) -> int:
    if arguments not in ([], ["--compile"]):
        print("usage: python3 -m tools.add_operation [--compile]", file=sys.stderr)
        return 2
    root = Path.cwd()
    tree, build = root / FOLDER / "tree", root / FOLDER / "build"
    try:
        make_copy(root, tree)
        configure(tree, build)
        compile_parts(build)
        if not arguments:
            conform(root, build)
    except Failed as reason:
        print(f"add_operation: {reason}", file=sys.stderr)
        return 1
    print(f"add_operation: {len(PLACES)} files were sufficient")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
