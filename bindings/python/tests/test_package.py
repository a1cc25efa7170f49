"""The installed wheel: its files, what they link, its command, and how long the import takes."""

import importlib.metadata
import json
import os
import re
import statistics
import subprocess
import sys
from pathlib import Path

import pytest
import vectis
from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile

PACKAGE = Path(vectis.__file__).parent
SITE = PACKAGE.parent
COMMAND = Path(sys.prefix) / "bin" / "vectis"
PLAIN = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "VECTIS_CACHE_PATH": "off"}
IMPORT_SECONDS = 0.060  # CPU time beyond that of NumPy
IMPORTS = 7  # processes whose median is taken

# Every file of the wheel, by kind.
KINDS = {
    "Python": r"vectis/(?:[a-z_]\w*/)*[a-z_]\w*\.py",
    "types": r"vectis/(?:py\.typed|(?:_vectis|_array|_nn)\.pyi)",
    "module": r"vectis/_vectis\.cpython-311-x86_64-linux-gnu\.so",
    "library": r"vectis/_install/lib/libvectis\.so\.\d+\.\d+",
    "plug-in": r"vectis/_install/lib/vectis/backends/libvectis_backend_(?:cuda|hip|opencl|webgpu)\.so",
    "command": r"vectis/_install/bin/vectis",
    "probe": r"vectis/_install/libexec/vectis/vectis-probe",
    "bundled": r"vectis\.libs/lib(?:tbb|yaml-cpp|fmt|hwy|utf8proc)-[0-9a-f]+\.so[.\d]*",
    "metadata": r"vectis-[\d.]+\.dist-info/(?:METADATA|WHEEL|RECORD|INSTALLER|REQUESTED|direct_url\.json|entry_points\.txt"
                r"|sboms/auditwheel\.cdx\.json)",
    "licenses": r"vectis-[\d.]+\.dist-info/licenses/(?:LICENSE|libraries/lib[\w.+-]+\.txt)",
    "entry": r"(?:\.\./)+bin/vectis",
}
SYSTEM_LIBRARIES = {"ld-linux-x86-64.so.2", "libc.so.6", "libdl.so.2", "libgcc_s.so.1", "libm.so.6", "libpthread.so.0",
                    "librt.so.1", "libstdc++.so.6"}


def wheel_files() -> list[str]:
    files = importlib.metadata.files("vectis")
    assert files
    return [str(file) for file in files if "__pycache__" not in file.parts]


def elf_files() -> list[Path]:
    paths = [SITE / name for name in wheel_files() if not name.startswith("..")]
    return [path for path in paths if path.open("rb").read(4) == b"\x7fELF"]


def dynamic(path: Path) -> tuple[list[str], list[str]]:
    """The libraries a file needs, and the folders it looks in for them."""
    with path.open("rb") as file:
        section = ELFFile(file).get_section_by_name(".dynamic")
        assert isinstance(section, DynamicSection), path
        needed = [tag.needed for tag in section.iter_tags("DT_NEEDED")]
        paths = [tag.rpath for tag in section.iter_tags("DT_RPATH")] + [tag.runpath for tag in section.iter_tags("DT_RUNPATH")]
    return needed, [folder for path in paths for folder in path.split(":")]


def output_of(*command: object, **environment: str) -> str:
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd="/", env={**PLAIN, **environment})
    assert done.returncode == 0, f"{words} ended with {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def test_imported_from_the_installed_wheel():
    assert PACKAGE.is_relative_to(sys.prefix)


def test_version_is_that_of_the_library_the_command_and_the_wheel():
    assert vectis.__version__ == vectis.version() == importlib.metadata.version("vectis")
    assert vectis.version() in output_of(COMMAND, "--version")


def test_module_works_in_an_empty_environment():
    assert output_of(sys.executable, "-c", "import vectis; print(vectis.version())").strip() == vectis.version()


def test_command_lists_devices():
    assert "cpu" in output_of(COMMAND, "devices").lower()


def test_command_passes_its_exit_code_and_arguments_on():
    done = subprocess.run([COMMAND, "no such command"], capture_output=True, text=True, check=False, env=PLAIN)
    assert done.returncode != 0 and "no such command" in done.stderr


def test_doctor_finds_every_plugin_of_the_wheel():
    plugins = sorted((PACKAGE / "_install" / "lib" / "vectis" / "backends").iterdir())
    assert {"opencl", "cuda", "hip"} <= {file.stem.removeprefix("libvectis_backend_") for file in plugins}
    said = output_of(COMMAND, "doctor", "--json")
    listed = {os.path.realpath(entry["path"]) for entry in json.loads(said)["backends"] if entry.get("path")}
    assert {os.path.realpath(file) for file in plugins} <= listed, said
    assert "could not be started" not in said  # the probe


@pytest.mark.parametrize("kind", KINDS)
def test_wheel_has_files_of_each_kind(kind):
    assert any(re.fullmatch(KINDS[kind], name) for name in wheel_files())


def test_wheel_has_no_other_files():
    assert [name for name in wheel_files() if not any(re.fullmatch(kind, name) for kind in KINDS.values())] == []


def test_files_look_for_libraries_inside_the_wheel_only():
    for path in elf_files():
        for folder in dynamic(path)[1]:
            assert folder.startswith("$ORIGIN"), f"{path}: {folder}"
            assert Path(os.path.normpath(folder.replace("$ORIGIN", str(path.parent)))).is_relative_to(SITE), f"{path}: {folder}"


def test_needed_libraries_are_in_the_wheel_or_part_of_the_system():
    for path in elf_files():
        needed, folders = dynamic(path)
        for library in set(needed) - SYSTEM_LIBRARIES:
            found = [Path(folder.replace("$ORIGIN", str(path.parent))) / library for folder in folders]
            assert any(file.is_file() for file in found), f"{path} needs {library}, which is not in {folders}"


def cpu_seconds(program: str) -> float:
    """CPU time of a fresh interpreter, which other processes hardly change, unlike elapsed time."""
    environment = {**PLAIN, "OPENBLAS_NUM_THREADS": "1"}
    process = subprocess.Popen([sys.executable, "-c", program], env=environment, cwd="/")
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return usage.ru_utime + usage.ru_stime


def test_import_is_quick():
    for program in ("import numpy", "import vectis"):
        cpu_seconds(program)  # reads the files into the page cache
    pairs = [(cpu_seconds("import numpy"), cpu_seconds("import numpy, vectis")) for _ in range(IMPORTS)]
    numpy, both = (statistics.median(column) for column in zip(*pairs))
    print(f"import numpy: {numpy * 1e3:.0f} ms of CPU time, with vectis: {both * 1e3:.0f} ms")
    assert both - numpy <= IMPORT_SECONDS, f"{(both - numpy) * 1e3:.0f} ms beyond NumPy: {pairs}"
