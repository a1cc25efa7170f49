"""Installs Vectis shared and static, uses both through CMake and through pkg-config, and moves a prefix.

usage: run.py SHARED_BUILD STATIC_BUILD WORK: two build folders of Vectis, and a folder for everything made here.
"""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
CXX = "g++-12"
CONFORMANCE_SLICE = "copy|sum_rows|top_k|streams|errors"  # operations, and behavior that belongs to no single operation
PLAIN = {"PATH": "/usr/bin:/bin"}  # environment of the installed programs, without anything that points to the build


class Failed(Exception):
    """A step failed; the text says which and how."""


def run(*command: object, env: dict[str, str] | None = None) -> str:
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=env)
    if done.returncode != 0:
        raise Failed(f"{shlex.join(words)} ended with {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def with_cmake(prefix: Path, work: Path) -> Path:
    run("cmake", "-G", "Ninja", "-S", HERE, "-B", work, f"-DCMAKE_PREFIX_PATH={prefix}", f"-DCMAKE_CXX_COMPILER={CXX}",
        "-DCMAKE_BUILD_TYPE=Release")
    run("cmake", "--build", work)
    return work / "outside"


def with_pkg_config(prefix: Path, work: Path) -> Path:
    folder = next(prefix.rglob("vectis.pc")).parent
    path = {"PKG_CONFIG_PATH": str(folder)}
    flags = shlex.split(run("pkg-config", "--cflags", "--libs", "vectis", env={**os.environ, **path}))
    work.mkdir(parents=True)
    library = next(prefix.rglob("libvectis.*")).parent
    run(CXX, "-std=c++20", HERE / "main.cpp", "-o", work / "outside", *flags, f"-Wl,-rpath,{library}")
    return work / "outside"


def check_links(program: Path, shared: bool) -> None:
    if ("libvectis" in run("ldd", program)) != shared:
        raise Failed(f"{program} should {'' if shared else 'not '}need libvectis.so")


def check_programs(prefix: Path, plugins: list[str]) -> None:
    """Checks that the installed `vectis` finds its library, its plug-ins and its probe."""
    devices = run(prefix / "bin" / "vectis", "devices", env=PLAIN)
    doctor = run(prefix / "bin" / "vectis", "doctor", env=PLAIN)
    if "cpu" not in devices.lower():
        raise Failed(f"vectis devices does not list the CPU:\n{devices}")
    for plugin in plugins:
        if f"/vectis/backends/libvectis_backend_{plugin}.so" not in "".join(own_lines(doctor, prefix)):
            raise Failed(f"vectis doctor does not find the plug-in {plugin}:\n{doctor}")
    if "could not be started" in doctor:
        raise Failed(f"vectis doctor does not find its probe:\n{doctor}")


def check_conformance(prefix: Path, work: Path) -> str:
    """Runs a sample of the conformance suite from the installed package on the CPU; returns its last line."""
    table = work / "conformance.csv"
    said = run(prefix / "bin" / "vectis", "conformance", "--backend", "cpu", "--slice", "--op", CONFORMANCE_SLICE,
               "--csv", table, env=PLAIN)
    proven = {line.split(",")[1] for line in table.read_text().splitlines()[1:]}
    if proven != set(CONFORMANCE_SLICE.split("|")):
        raise Failed(f"vectis conformance reports {sorted(proven)}, not {CONFORMANCE_SLICE}:\n{said}")
    return said.splitlines()[-1]


def own_lines(text: str, prefix: Path) -> list[str]:
    return [line for line in text.splitlines() if f"{prefix}/" in line]


def plugins_of(prefix: Path) -> list[str]:
    return sorted(file.stem.removeprefix("libvectis_backend_") for file in prefix.rglob("vectis/backends/*.so"))


def main(shared_build: Path, static_build: Path, work: Path) -> None:
    shutil.rmtree(work, ignore_errors=True)
    prefixes = {"shared": work / "shared", "static": work / "static"}
    run("cmake", "--install", shared_build, "--prefix", prefixes["shared"])
    run("cmake", "--install", static_build, "--prefix", prefixes["static"])
    # Plug-ins do not link Vectis, so the static programs use the same ones.
    for folder in prefixes["shared"].rglob("vectis/backends"):
        shutil.copytree(folder, prefixes["static"] / folder.relative_to(prefixes["shared"]), dirs_exist_ok=True)

    worked, combinations = 0, [(kind, way) for kind in prefixes for way in (with_cmake, with_pkg_config)]
    for kind, way in combinations:
        program = way(prefixes[kind], work / f"{kind}-{way.__name__}")
        check_links(program, kind == "shared")
        listed = run(program, env=PLAIN)
        print(f"install: {kind} {way.__name__.replace('_', ' ')}: {len(listed.splitlines())} devices")
        worked += 1

    for kind, prefix in prefixes.items():
        check_programs(prefix, plugins_of(prefix))
        moved = move(prefix, work / "moved" / kind)
        check_programs(moved, plugins_of(moved))
        print(f"install: {kind} conformance, {check_conformance(moved, work)}")
        print(f"install: {kind} programs find {', '.join(plugins_of(moved)) or 'no plug-in'} and their probe, also moved")
    plain_c = HERE / "plugin" / "run.sh"
    if plain_c.is_file():
        print(run("bash", plain_c, work / "moved" / "shared"), end="")
    print(f"{worked} of {len(combinations)} install combinations work")


def move(prefix: Path, target: Path) -> Path:
    target.parent.mkdir(parents=True, exist_ok=True)
    return prefix.rename(target)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    try:
        main(*(Path(argument).resolve() for argument in sys.argv[1:]))
    except Failed as reason:
        sys.exit(f"tests/install: {reason}\nto repeat: ./dev test install")
