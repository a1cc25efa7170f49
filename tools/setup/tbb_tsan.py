"""Builds oneTBB with ThreadSanitizer into build/tbb-tsan, from the source of the installed Debian package.

An uninstrumented oneTBB gives false reports, and suppressing the library would hide real races.
"""

import shutil
import subprocess
import sys
import time
from pathlib import Path

from tools.setup.apt_source import fetch_source

ROOT = Path(__file__).resolve().parents[2]
PREFIX = ROOT / "build" / "tbb-tsan"
WORK = ROOT / "build" / "tbb-tsan-work"
OPTIONS = ["-DCMAKE_C_COMPILER=clang-19", "-DCMAKE_CXX_COMPILER=clang++-19", "-DCMAKE_BUILD_TYPE=RelWithDebInfo",
           "-DTBB_SANITIZE=thread", "-DTBB_TEST=OFF", "-DTBBMALLOC_BUILD=OFF",
           "-DTBB_DISABLE_HWLOC_AUTOMATIC_SEARCH=ON", "-DCMAKE_INSTALL_LIBDIR=lib"]


def installed_version() -> str:
    query = ["dpkg-query", "-W", "-f", "${source:Version}", "libtbb-dev"]
    return subprocess.run(query, check=True, capture_output=True, text=True).stdout


def build(stamp: Path, version: str) -> None:
    for stale in (WORK, PREFIX):
        shutil.rmtree(stale, ignore_errors=True)
    source = fetch_source("onetbb", version, WORK / "source", WORK / "apt")
    configure = ["cmake", "-G", "Ninja", "-S", source, "-B", WORK / "build", f"-DCMAKE_INSTALL_PREFIX={PREFIX}"]
    subprocess.run([*configure, *OPTIONS, "-Wno-dev", "--log-level=WARNING"], check=True)
    subprocess.run(["cmake", "--build", WORK / "build"], check=True)
    subprocess.run(["cmake", "--install", WORK / "build"], check=True, stdout=subprocess.DEVNULL)
    shutil.rmtree(WORK)
    stamp.write_text(version)


def main() -> int:
    stamp, version = PREFIX / "version", installed_version()
    if stamp.is_file() and stamp.read_text() == version:
        print(f"setup: build/tbb-tsan is oneTBB {version} with ThreadSanitizer")
        return 0
    start = time.monotonic()
    build(stamp, version)
    print(f"setup: built oneTBB {version} with ThreadSanitizer in {time.monotonic() - start:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
