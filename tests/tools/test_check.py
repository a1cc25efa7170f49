"""One violation of each kind is planted in a small tree and must be caught with its file, line and rule."""

import subprocess
import sys
from pathlib import Path

import pytest

from tools.check.finding import Finding
from tools.check.rules import RULES
from tools.check.tree import Tree

ROOT = Path(__file__).resolve().parents[2]
DEVICE = "src/device/device.cpp"
LATER = "TO" + "DO"  # in pieces: this file obeys the rule it tests

# rule, file, line of the violation, text of the file
PLANTED = {
    "include to the right": ("layers", DEVICE, 2, '#include "vectis/base/error.hpp"\n#include "vectis/plan/plan.hpp"\n'),
    "include to the right in base": ("layers", "src/base/error.cpp", 1, '#include "device/device.hpp"\n'),
    "include of a layer's one header": ("layers", "include/vectis/base/error.hpp", 2,
                                        '#pragma once\n#include "vectis/device.hpp"\n'),
    "include between siblings": ("layers", "src/nn/nn.cpp", 1, '#include "vectis/search/search.hpp"\n'),
    "include between last siblings": ("layers", "apps/vectis/main.cpp", 1, '#include "bindings/c/c.hpp"\n'),
    "include through dots": ("layers", "src/base/error.cpp", 1, '#include "../device/device_private.hpp"\n'),
    "test that leaves its layer": ("layers", "src/base/error_test.cpp", 1, '#include "vectis/device/device.hpp"\n'),
    "include of a backend": ("layers", DEVICE, 1, '#include "backends/cpu/cpu.hpp"\n'),
    "test that includes a backend": ("layers", "tests/devices.cpp", 1, '#include "backends/opencl/api.hpp"\n'),
    "plug-in that uses the library": ("layers", "backends/opencl/plugin.cpp", 1, '#include "vectis/base/error.hpp"\n'),
    "library that uses what plug-ins share": ("layers", DEVICE, 1, '#include "backends/plugin/host.hpp"\n'),
    "plug-in that uses another": ("layers", "backends/opencl/plugin.cpp", 1, '#include "backends/cpu/cpu.hpp"\n'),
    "CPU beyond base": ("layers", "backends/cpu/cpu.cpp", 1, '#include "vectis/device/device.hpp"\n'),
    "private include in a public header": ("layers", "include/vectis/device/device.hpp", 2,
                                           '#pragma once\n#include "base/secret.hpp"\n'),
    "application that uses private headers": ("layers", "apps/vectis/main.cpp", 1, '#include "base/secret.hpp"\n'),
    "example that uses private headers": ("layers", "examples/first.cpp", 1, '#include "base/secret.hpp"\n'),
    "layer that includes every layer": ("layers", "src/base/error.cpp", 1, '#include "vectis/vectis.hpp"\n'),
    "unknown folder": ("layers", "src/misc/misc.cpp", 1, "int x;\n"),
    "thread": ("primitives", DEVICE, 3, "#include <thread>\n\nstd::thread worker;\n"),
    "jthread": ("primitives", DEVICE, 1, "std::jthread worker;\n"),
    "condition variable": ("primitives", DEVICE, 1, "std::condition_variable_any ready;\n"),
    "condition variable's header": ("primitives", DEVICE, 1, "#include <condition_variable>\n"),
    "sleep": ("primitives", "backends/cpu/cpu.cpp", 2, "void f() {\n  std::this_thread::sleep_for(d);\n}\n"),
    "clock": ("primitives", "apps/vectis/main.cpp", 1, "auto now = std::chrono::steady_clock::now();\n"),
    "clock by another name": ("primitives", DEVICE, 1, "using Clock = std::chrono::high_resolution_clock;\n"),
    "async": ("primitives", DEVICE, 1, "auto later = std::async(f);\n"),
    "timed wait": ("primitives", DEVICE, 1, "bool ok = ready.wait_for(lock, d);\n"),
    "pthread": ("primitives", DEVICE, 1, "int r = pthread_create(&t, nullptr, f, nullptr);\n"),
    "C sleep": ("primitives", DEVICE, 2, "// sleep\nint r = nanosleep(&t, nullptr);\n"),
    "after a string and a comment": ("primitives", DEVICE, 2,
                                     'auto s = R"(std::jthread)"; /* std::async */ char q = \'"\';\n'
                                     "int n = 1'000; std::jthread t;\n"),
    "OS header": ("os-headers", DEVICE, 1, "#include <unistd.h>\n"),
    "OS header in base": ("os-headers", "src/base/error.cpp", 1, "#include <dlfcn.h>\n"),
    "OS header with a folder": ("os-headers", "include/vectis/base/error.hpp", 2, "#pragma once\n#  include <sys/mman.h>\n"),
    "OS header in a plug-in": ("os-headers", "backends/opencl/plugin.cpp", 1, "#include <fcntl.h>\n"),
    "header that needs another": ("headers", "include/vectis/base/error.hpp", 2, "#pragma once\nstd::string text();\n"),
    "contract that is not C": ("headers", "include/vectis/device/backend.h", 1, "enum Kind : int { a };\n"),
    "formatting": ("format", DEVICE, 1, "int   x;\n"),
    "long file": ("sizes", DEVICE, 601, "\n" * 601),
    "private term": ("terms", DEVICE, 2, "int x;\nclass Rung {};\n"),
    "British spelling": ("terms", "docs/errors.md", 1, "the nearest neighbour\n"),
    "stale page": ("generated", "docs/errors.md", 2, "errors\nmore\n"),
    "tidy": ("tidy", DEVICE, 1, "int* pointer = 0;\n"),
    "tidy's names": ("tidy", DEVICE, 1, "class bad_name {};\n"),
    "note for later": ("wording", DEVICE, 2, f"int x;\nint y;  // {LATER} rename\n"),
    "path of a machine": ("wording", "docs/errors.md", 1, "see /" + "home/someone/notes\n"),
    "glossary without a file": ("glossary", "docs/glossary.md", 3,
                                "| term | meaning | source | file |\n|---|---|---|---|\n| a | b | c | `src/none.cpp` |\n"),
    "glossary out of order": ("glossary", "docs/glossary.md", 2,
                              "| b | m | s | `docs/errors.md` |\n| a | m | s | `docs/errors.md` |\n"),
    "unexplained package": ("dependencies", "tools/packages.txt", 2, "libtbb-dev  # threads\nlibfoo-dev  # foo\n"),
    "unexplained find_package": ("dependencies", "CMakeLists.txt", 1, "find_package(Foo REQUIRED)\n"),
    "unexplained Python program": ("dependencies", "tools/requirements.txt", 1, "foo==1.0\n"),
}


def findings_of(rule_name: str, root: Path) -> list[Finding]:
    rule = next(rule for rule in RULES if rule.name == rule_name)
    return rule.run(Tree(root)).findings


@pytest.mark.parametrize("rule", [rule.name for rule in RULES])
def test_clean_tree_passes(planted, rule):
    assert findings_of(rule, planted.root) == []


@pytest.mark.parametrize("kind", PLANTED)
def test_violation_is_caught(planted, kind, record_property):
    record_property("planted", "tried")
    rule, file, line, text = PLANTED[kind]
    planted.write(file, text)
    planted.write_compile_commands()
    found = {(finding.file, finding.line, finding.rule) for finding in findings_of(rule, planted.root)}
    assert found == {(file, line, rule)}
    record_property("planted", "caught")


def test_cycle_between_folders_is_caught(planted, record_property):
    record_property("planted", "tried")
    planted.write("src/base/a/a.hpp", '#pragma once\n#include "base/b/b.hpp"\n')
    planted.write("src/base/b/b.hpp", '#pragma once\n#include "base/a/a.hpp"\n')
    found = findings_of("cycles", planted.root)
    assert [(finding.file, finding.line) for finding in found] == [("src/base/b/b.hpp", 2)]
    assert "src/base/a -> src/base/b -> src/base/a" in found[0].message
    record_property("planted", "caught")


def test_every_rule_has_a_planted_violation():
    assert {rule.name for rule in RULES} == {rule for rule, *_ in PLANTED.values()} | {"cycles"}


def test_command_prints_finding_and_how_to_fix_it(planted):
    planted.write(DEVICE, "int   x;\n")
    command = [sys.executable, "-m", "tools.check", "format", "layers"]
    done = subprocess.run(command, cwd=planted.root, env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
                          capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert f"{DEVICE}:1: format: " in done.stdout
    assert "to fix: ./dev fix" in done.stdout
    assert "check layers       ok" in done.stdout
