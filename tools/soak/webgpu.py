"""`./dev soak webgpu`: the promises of the WebGPU backend at full count, written to docs/evidence/webgpu.json.

On Mesa's software drivers: lavapipe through Vulkan, and llvmpipe through OpenGL with no Vulkan driver there."""

import json
import re
import sys
from pathlib import Path

from tools import browser_demo, conformance, mutants, suite, webgpu_driver
from tools.conformance import seed
from tools.dialects import metal
from tools.evidence import Figure, output_of, run_soak

ROOT = Path(__file__).resolve().parents[2]
RELEASE = ROOT / "build" / "release"
BIN = RELEASE / "bin"
PROBLEMS = 2000
PROGRAMS = 2000
ROUNDS = 20
# Operations that can be split to any size. Operations that need a whole row or matrix at once are rejected there.
CUT = "cast|copy|fill|gather|scatter|transpose|matmul|scan_bounds|.*_distance|l2_squared|dot_product|map|memory|threads"
DRIVERS = {"vulkan": "lavapipe", "gl": "llvmpipe over GL"}


def conforming(interface: str) -> list[Figure]:
    suite.build("release")
    return conformance.run(BIN / "vectis", "webgpu", DRIVERS[interface], webgpu_driver.environment(interface))


def planted() -> list[Figure]:
    verdicts = mutants.webgpu_mutants(0, int(seed()))
    return [Figure.measured("mutants of printers planted", len(verdicts), "mutants", ">= 20"),
            Figure.measured("mutants of printers not caught on lavapipe", sum(not one.caught for one in verdicts),
                            "mutants", "== 0")]


def problems() -> list[Figure]:
    """Exact search: random problems on lavapipe, one corpus over three kinds of device, one of them lost."""
    suite.build("release")
    text = output_of(BIN / "exact_webgpu_test", "--gtest_filter=WebGpuSearch.*", root=ROOT,
                     env={"VECTIS_TEST_PROBLEMS": str(PROBLEMS)})
    tried = re.search(r"^(\d+) random problems on webgpu", text, re.MULTILINE)
    passed = re.search(r"\[  PASSED  \] (\d+) tests", text)
    return [Figure.measured("random problems on lavapipe with the CPU's ids", int(tried.group(1)) if tried else 0,
                            "problems", f">= {PROBLEMS}"),
            Figure.measured("suites of lavapipe beside PoCL beside the CPU, one lost", int(passed.group(1)) - 1,
                            "suites", ">= 2")]


def parts() -> list[Figure]:
    """Kernels are given 256 KiB of a memory at most: the suite's larger cases are cut, and so is every corpus."""
    suite.build("release")
    small = {"VECTIS_BACKENDS_WEBGPU_BINDING_KB": "256"}
    device = "lavapipe with bindings of 256 KiB"
    figures = conformance.run(BIN / "vectis", "webgpu", device, webgpu_driver.environment("vulkan") | small, CUT)
    text = output_of(BIN / "exact_webgpu_test", "--gtest_filter=WebGpuSearchInParts.*", root=ROOT,
                     env={"VECTIS_TEST_PROBLEMS": str(PROBLEMS)})
    tried = re.search(r"^(\d+) random problems in parts", text, re.MULTILINE)
    for round_ in range(ROUNDS):  # a failure ends the soak
        output_of(BIN / "webgpu_kernels_test", "--gtest_filter=WebGpuSplit.*:WebGpuLimit.*", root=ROOT,
                  env={"VECTIS_TEST_SEED": str(int(seed()) + round_)})
    return figures[:2] + [
        Figure.measured("random problems with bindings of 256 KiB and the CPU's ids",
                        int(tried.group(1)) if tried else 0, "problems", f">= {PROBLEMS // 5}"),
        Figure.measured("seeds for which operations and maps over the binding limit are as on the CPU", ROUNDS, "seeds",
                        f">= {ROUNDS}")]


def browser() -> list[Figure]:
    """The page of examples/browser in Debian's chromium."""
    suite.build("release")
    if browser_demo.browser() is None:
        raise SystemExit("the soak runs a page in chromium, which is not here; Debian: apt-get install chromium")
    result = browser_demo.run(BIN / "example_browser", ROOT / "build" / "soak" / "browser.png")
    if "error" in result:
        raise SystemExit(f"the page says: {result['error']}")
    return [Figure.measured("vectors searched in chromium with the IR's WGSL", result["rows"], "vectors", ">= 50000"),
            Figure.measured(f"recall in chromium ({result['adapter']}), of {result['places']} places", result["recall"],
                            "share", ">= 1"),
            Figure.measured("distances in chromium that are the CPU's bit by bit", result["equal_distances"], "places",
                            f">= {result['places']}"),
            Figure.measured("a query in chromium, median", round(result["milliseconds"], 1), "ms", "< 1000")]


def programs() -> list[Figure]:
    suite.build("release")
    text = output_of(BIN / "ir_test", "--gtest_filter=*RandomPrograms*webgpu*", root=ROOT,
                     env={"VECTIS_IR_PROGRAMS": str(PROGRAMS)})
    row = json.loads(re.search(r"^ir-programs (\{.*\})$", text, re.MULTILINE).group(1))
    return [Figure.measured("random programs as WGSL on lavapipe", row["programs"], "programs", f">= {PROGRAMS}"),
            Figure.measured(f"results outside WGSL's bounds, of {row['elements']}", row["refused"], "results", "== 0")]


def hostile() -> list[Figure]:
    """Kernels and launches over every limit: typed errors, most of them wgpu's own."""
    suite.build("release")
    text = output_of(BIN / "webgpu_test", "--gtest_filter=*ostile*", root=ROOT)  # an abort ends the soak
    figures = []
    for tried, interface, by_wgpu in re.findall(
            r"^(\d+) invalid kernels and launches over (\w+), (\d+) rejected by wgpu itself", text, re.MULTILINE):
        figures += [Figure.measured(f"hostile kernels and launches over {interface}, typed errors and no abort",
                                    int(tried), "tried", ">= 200"),
                    Figure.measured(f"hostile ones over {interface} that wgpu itself refused", int(by_wgpu), "refused",
                                    ">= 100")]
    return figures


def translated() -> list[Figure]:
    suite.build("release")
    row = metal.run(metal.texts_of(BIN / "vectis"), ROOT / "build" / "dialects" / "metal")
    return [Figure.measured("built-in kernels translated for Metal", row.texts - len(row.failures), "texts", ">= 100"),
            Figure.measured("built-in kernels not translated", len(row.failures), "texts", "== 0")]


def support() -> list[Figure]:
    """The words of docs/support.md."""
    table = [[cell.strip() for cell in line.split("|")[1:-1]]
             for line in (ROOT / "docs" / "support.md").read_text().splitlines() if line.startswith("| ")]
    heads, rows = table[0], table[1:]
    words = {backend: [row[heads.index(backend)] for row in rows] for backend in ("webgpu", "metal")}
    runs = words["webgpu"].count("runs on a software driver")
    texts = words["metal"].count("translated")
    return [Figure.measured("lines of webgpu that run on a software driver", runs, "lines", f">= {len(rows)}"),
            Figure.measured("lines of metal that are translated", texts, "lines", ">= 100")]


def launches() -> list[Figure]:
    text = output_of(ROOT / "bench" / "webgpu", root=ROOT)
    report = json.loads(text[text.index("{"):text.rindex("}") + 1])
    steady = output_of(BIN / "webgpu_test", "--gtest_filter=WebgpuSteady.*", root=ROOT)
    failed = len(re.findall(r"\[  FAILED  \] WebgpuSteady\.\w+ \(", steady))
    return [Figure.measured("an operation on one work-group, lavapipe", round(report["ratio"], 3),
                            "of bare wgpu-native's time", "<= 1.5"),
            Figure.measured("suites in which repeated work made anything", failed, "suites", "== 0")]


MEASUREMENTS = {"conformance on lavapipe": lambda: conforming("vulkan"), "conformance over GL": lambda: conforming("gl"),
                "problems": problems, "parts": parts, "browser": browser, "programs": programs, "hostile": hostile,
                "translated": translated, "support": support, "launches": launches, "mutants": planted}


if __name__ == "__main__":
    sys.exit(run_soak("webgpu", ROOT, MEASUREMENTS))
