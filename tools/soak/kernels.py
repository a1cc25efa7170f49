"""`./dev soak kernels`: the promises of the kernel layer at full count, written to docs/evidence/kernels.json."""

import json
import re
import subprocess
import sys
from pathlib import Path

from tools import add_operation, conformance, mutants, suite, webgpu_driver
from tools.conformance import seed
from tools.evidence import Figure, output_of, run_soak

ROOT = Path(__file__).resolve().parents[2]
RELEASE = ROOT / "build" / "release"
BIN = RELEASE / "bin"
KEPT = ROOT / "build" / "soak"
PROGRAMS = 5000
HUGE = "^(fill|max_rows)$"
POCL = {"OCL_ICD_VENDORS": "/etc/OpenCL/vendors/pocl.icd", "POCL_MAX_PTHREAD_COUNT": "4",
        "POCL_CACHE_DIR": str(ROOT / "build" / "pocl-cache")}


def conforming(backend: str) -> list[Figure]:
    suite.build("release")
    return conformance.run(BIN / "vectis", backend, backend, POCL)


def huge(backend: str) -> list[Figure]:
    """Views over 2^31 bytes, where an index of 32 bits would wrap: flat, by rows, and by gathered rows. All operations
    can be had with `vectis conformance --full`, which takes hours, nearly all of them in the references."""
    suite.build("release")
    text = output_of(BIN / "vectis", "conformance", "--backend", backend, "--full", "--op", HUGE, "--seed", seed(),
                     root=ROOT, env=POCL)
    cases, failures = (int(number) for number in re.search(r"(\d+) cases, (\d+) failures", text).groups())
    return [Figure.measured(f"views over 2^31 bytes on {backend} ({HUGE}), failures of {cases} cases", failures,
                            "failures", "== 0")]


def clblast() -> list[Figure]:
    suite.build("release")
    text = output_of(BIN / "vectis", "conformance", "--backend", "opencl", "--op", "matmul", "--seed", seed(),
                     root=ROOT, env={**POCL, "VECTIS_BACKENDS_OPENCL_CLBLAST": "on"})
    cases, failures = (int(number) for number in re.search(r"(\d+) cases, (\d+) failures", text).groups())
    return [Figure.measured(f"products by CLBlast, failures of {cases} cases", failures, "failures", "== 0")]


def limits() -> list[Figure]:
    """Error limits relative to the errors measured on all backends; one limit serves all devices."""
    conformance.run(BIN / "vectis", "webgpu", "lavapipe", webgpu_driver.environment("vulkan"))
    worst: dict[tuple[str, str], float] = {}
    stated: dict[tuple[str, str], float] = {}
    for device in ("cpu", "opencl", "lavapipe"):
        for row in conformance.rows_of(device):
            key = (row["operation"], row["types"])
            worst[key] = max(worst.get(key, 0.0), float(row["worst_error"]))
            stated[key] = float(row["limit"])
    ratios = {key: stated[key] / worst[key] if worst[key] else float("inf") for key in stated if stated[key] > 0}
    loosest = max(ratios, key=ratios.get)
    exact = sum(1 for limit in stated.values() if limit == 0)
    return [Figure.measured(f"loosest limit over its measured error, {' '.join(loosest)}", round(ratios[loosest], 2),
                            "times", "<= 4"),
            Figure.measured("operations and types that must be exact, and are", exact, "lines", ">= 1")]


def planted() -> list[Figure]:
    suite.build("release")
    verdicts = mutants.text_mutants(RELEASE, 0, int(seed())) + mutants.source_mutants(0, int(seed()))
    return [Figure.measured("mutants planted", len(verdicts), "mutants", ">= 40"),
            Figure.measured("mutants not caught", sum(not verdict.caught for verdict in verdicts), "mutants", "== 0")]


def dialects() -> list[Figure]:
    suite.build("release")
    KEPT.mkdir(parents=True, exist_ok=True)
    target = KEPT / "dialects.json"
    target.unlink(missing_ok=True)  # do not report the result of an earlier run
    subprocess.run([sys.executable, "-m", "tools.dialects", "--programs", "200", "--seed", seed(), "--json",
                    str(target)], cwd=ROOT, check=False)
    return [Figure.measured(f"{row['compiler']} {row['target']}: failures of {row['texts']} texts",
                            len(row["failures"]), "failures", "== 0") for row in json.loads(target.read_text())]


def programs() -> list[Figure]:
    suite.build("release")
    text = output_of(BIN / "ir_test", "--gtest_filter=*RandomPrograms*", root=ROOT,
                     env={"VECTIS_IR_PROGRAMS": str(PROGRAMS)})
    figures = []
    for line in re.findall(r"^ir-programs (\{.*\})$", text, re.MULTILINE):
        row = json.loads(line)
        figures += [Figure.measured(f"random programs on {row['device']}", row["programs"], "programs",
                                    f">= {PROGRAMS}"),
                    Figure.measured(f"results on {row['device']} outside the bounds, of {row['elements']}",
                                    row["refused"], "results", "== 0"),
                    Figure.measured(f"worst error on {row['device']}", row["worst_error_over_bound"], "of its bound",
                                    "<= 1")]
    derivatives = output_of(BIN / "kernel_test", "--gtest_filter=IrDerivative.*", root=ROOT)
    failed = len(re.findall(r"\[  FAILED  \] \S+ \(", derivatives))
    return figures + [Figure.measured("suites of derivatives that differ from finite differences", failed, "suites",
                                      "== 0")]


def elementwise() -> list[Figure]:
    report = json_of(output_of(ROOT / "bench" / "elementwise", root=ROOT))
    return [Figure.measured("six operations over 10 M floats", round(report["of_hand_written"], 3),
                            "of fused SIMD by hand", ">= 0.8"),
            Figure.measured("six operations over 10 M floats", round(report["times_numpy"], 2), "times NumPy", ">= 3")]


def products() -> list[Figure]:
    report = json_of(output_of(ROOT / "bench" / "gemm", root=ROOT))
    figures = [Figure.measured(f"matrix product of {row['size']}", round(row["ratio"], 3), "of oneDNN bare", ">= 0.97")
               for row in report["products"]]
    call = report["nanoseconds of a call"] / 1000
    return figures + [Figure.measured("an operation on one element, CPU", round(call, 3), "µs", "<= 2")]


def launches() -> list[Figure]:
    ratio = json_of(output_of(ROOT / "bench" / "launch", root=ROOT))["ratio"]
    return [Figure.measured("an operation on one work-group, PoCL", round(ratio, 3), "of bare OpenCL's time", "<= 1.3")]


def profiler() -> list[Figure]:
    suite.build("release")
    text = output_of("ctest", "--test-dir", RELEASE, "-R", "profiler.overhead", "-V", root=ROOT)
    branches = max(float(number) for number in re.findall(r"conditional branches \+([\d.]+)", text))
    return [Figure.measured("branches an idle profiler adds to a call", branches, "branches", "<= 1")]


def new_operation() -> list[Figure]:
    """A dummy operation added to a copy of the tree passes conformance on both backends."""
    text = output_of(sys.executable, "-m", "tools.add_operation", root=ROOT)
    passed = len(re.findall(r"^add_operation: .* 0 failures", text, re.MULTILINE))
    return [Figure.measured("files a new operation touches", len(add_operation.PLACES), "files", "<= 3"),
            Figure.measured("backends on which a new operation passes conformance", passed, "backends", "== 2")]


def json_of(text: str) -> dict:
    """The report a program printed among other lines."""
    return json.loads(text[text.index("{"):text.rindex("}") + 1])


MEASUREMENTS = {"conformance on cpu": lambda: conforming("cpu"),
                "conformance on opencl": lambda: conforming("opencl"), "products by CLBlast": clblast,
                "huge views on cpu": lambda: huge("cpu"), "huge views on opencl": lambda: huge("opencl"),
                "limits": limits, "mutants": planted, "dialects": dialects, "programs": programs,
                "elementwise": elementwise, "products": products, "launches": launches, "profiler": profiler,
                "new operation": new_operation}


if __name__ == "__main__":
    sys.exit(run_soak("kernels", ROOT, MEASUREMENTS))
