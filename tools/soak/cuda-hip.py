"""`./dev soak cuda-hip`: CUDA and HIP on the test driver at full count, written to docs/evidence/cuda-hip.json."""

import re
import sys
from pathlib import Path

from tools import cuda_hip_mutants, suite
from tools.evidence import Figure, output_of, run_soak
from tools.gpu_evidence import collect

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "release"
SEARCHES = 500
COPIES = 300


def conformance() -> list[Figure]:
    suite.build("release")
    text = output_of(BUILD / "bin" / "cuda_hip_test", root=ROOT, env={"VECTIS_TEST_CONFORMANCE": "whole"})
    figures = []
    for device, cases, failures in re.findall(r"(\w+):0: (\d+) cases, (\d+) failures", text):
        figures += [Figure.measured(f"conformance on {device}, all shapes and layouts", int(cases), "cases", ">= 10000"),
                    Figure.measured(f"conformance on {device}", int(failures), "failures", "== 0")]
    return figures


def searches() -> list[Figure]:
    suite.build("release")
    text = output_of(BUILD / "bin" / "cuda_hip_search_test", root=ROOT, env={"VECTIS_TEST_SEARCHES": str(SEARCHES)})
    return [Figure.measured(f"random searches on one, two and four {name} devices that give the truth", int(count),
                            "problems", f">= {SEARCHES}")
            for name, count in re.findall(r"(\w+): (\d+) problems on one", text)]


def faults() -> list[Figure]:
    suite.build("release")
    figures = []
    for name in ("cuda", "hip"):
        text = output_of(BUILD / "bin" / f"{name}_plugin_test", "--gtest_filter=Driver*", root=ROOT)
        points = int(re.search(r"(\d+) fault points over", text).group(1))
        failed = len(re.findall(r"\[  FAILED  \] \S+ \(", text))
        figures += [Figure.measured(f"calls below the {name} plug-in that failed once", points, "points", ">= 150"),
                    Figure.measured(f"{name}: wrong status, leak, or next call broken", failed, "suites", "== 0")]
    return figures


def mistakes() -> list[Figure]:
    suite.build("release")
    planted, caught = cuda_hip_mutants.run(BUILD, 0)
    return [Figure.measured("mutants of the host code", planted, "mutants", ">= 25"),
            Figure.measured("mutants not noticed on the test driver", planted - caught, "mutants", "== 0")]


def copies() -> list[Figure]:
    """Between devices, by every route, the test driver's delays on."""
    suite.build("release")
    text = output_of(BUILD / "bin" / "devices_test", "--gtest_filter=*Copies*:*HostMem*:StagedFaults*", root=ROOT,
                     env={"VECTIS_TEST_COPIES": str(COPIES)})
    peer, staged = re.search(r"(\d+) by peer, (\d+) staged", text).groups()
    failed = len(re.findall(r"\[  FAILED  \] \S+ \(", text))
    return [Figure.measured("copies from device to device with the right bytes", int(peer), "copies", ">= 1000"),
            Figure.measured("copies staged through the host with the right bytes", int(staged), "copies", ">= 1000"),
            Figure.measured("copies between devices: wrong bytes, order, or memory not pinned", failed, "tests", "== 0")]


def machine_code() -> list[Figure]:
    """The hot kernels, compiled for GPUs and read."""
    suite.build("release")
    read = collect.collect(BUILD / "bin" / "vectis-kernels", ROOT / "build" / "gpu-evidence")
    without_dots = [row for row in read.rows if row.label.startswith("scan_bounds i8") and row.counts
                    and row.counts["IDP"] == 0]
    page = (ROOT / "docs" / "gpu-evidence.md").read_text()
    return [Figure.measured("hot kernels read as machine code", len(read.kernels), "kernels", ">= 60"),
            Figure.measured("architectures they are compiled for", len({row.architecture for row in read.rows}),
                            "architectures", ">= 6"),
            Figure.measured("hot kernels that spill without a reason given", len(read.unexplained()), "kernels", "== 0"),
            Figure.measured("int8 scans without dp4a, NVIDIA", len(without_dots), "kernels", "== 0"),
            Figure.measured("docs/gpu-evidence.md is of other texts", int(read.checksum not in page), "pages",
                            "== 0")]


MEASUREMENTS = {"machine code": machine_code, "faults": faults, "searches": searches, "mutants": mistakes, "copies": copies,
                "conformance": conformance}


if __name__ == "__main__":
    sys.exit(run_soak("cuda-hip", ROOT, MEASUREMENTS))
