"""Makes `tools` importable and gives tests a small tree in which every rule is silent."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

CLEAN = {
    "include/vectis/base.hpp": '#pragma once\n\n#include "vectis/base/error.hpp"\n',
    "include/vectis/base/error.hpp": "#pragma once\n\nint describe(int code);\n",
    "include/vectis/device/device.hpp": '#pragma once\n\n#include "vectis/base/error.hpp"\n',
    "include/vectis/device/backend.h": "#ifndef BACKEND_H\n#define BACKEND_H\nint vectis_status(void);\n#endif\n",
    "src/base/error.cpp": '#include "vectis/base/error.hpp"\n\n#include <thread>\n\nstd::thread worker;\n',
    "src/base/os/real.cpp": '#include <unistd.h>\n\n#include "vectis/base/error.hpp"\n',
    "src/device/device.cpp": '// Not a std::thread.\n#include "vectis/device/device.hpp"\n\n'
                             'const char* text = "steady_clock";\n',
    "src/device/device_test.cpp": '#include "vectis/device/device.hpp"\n\n#include <thread>\n\nstd::thread worker;\n',
    "backends/opencl/plugin.cpp": '#include <condition_variable>\n\n#include "vectis/device/backend.h"\n',
    "backends/cpu/cpu.cpp": '#include "vectis/base/error.hpp"\n#include "vectis/device/backend.h"\n',
    "apps/vectis/main.cpp": '#include "vectis/device/device.hpp"\n\nint main() { return 0; }\n',
    "tests/devices.cpp": '#include <sys/stat.h>\n\n#include "vectis/device/device.hpp"\n',
    "docs/errors.md": "errors\n",
    "docs/configuration.md": "configuration\n",
    "docs/operations.md": "operations\n",
    "docs/dependencies.md": "- TBB (libtbb-dev): threads\n- pytest: tests\n",
    "tools/packages.txt": "# Packages.\nlibtbb-dev  # threads\n",
    "tools/requirements.txt": "pytest==8.4.2\n",
    "CMakeLists.txt": "find_package(TBB REQUIRED)\n",
}


class PlantedTree:
    def __init__(self, root: Path):
        self.root = root
        for name, text in CLEAN.items():
            self.write(name, text)
        for name in (".clang-format", ".clang-tidy"):
            shutil.copy(ROOT / name, root / name)
        self.write("build/release/bin/vectis-docs", "#!/bin/sh\necho $1\n").chmod(0o755)
        self.write_compile_commands()
        self.write(".gitignore", "/build/\n")
        subprocess.run(["git", "init", "-q", root], check=True)

    def write(self, name: str, text: str) -> Path:
        file = self.root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def write_compile_commands(self) -> None:
        entries = ", ".join(f'{{"directory": "{self.root}", "file": "{name}", "command": "c++ -std=c++20 -Iinclude -c {name}"}}'
                            for name in CLEAN if name.endswith(".cpp"))
        self.write("build/release/compile_commands.json", f"[{entries}]\n")


def pytest_terminal_summary(terminalreporter):
    """Prints how many of the planted violations were caught; `./dev soak ground` reads this line."""
    reports = terminalreporter.getreports("passed") + terminalreporter.getreports("failed")
    marks = [value for report in reports if report.when == "call"
             for name, value in report.user_properties if name == "planted"]
    if marks:
        terminalreporter.write_line(f"{marks.count('caught')} of {marks.count('tried')} planted violations caught")


@pytest.fixture
def planted(tmp_path: Path) -> PlantedTree:
    return PlantedTree(tmp_path)
