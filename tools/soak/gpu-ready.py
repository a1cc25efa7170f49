"""`./dev soak gpu-ready`: what can be shown of GPUs without one, written to docs/evidence/gpu-ready.json.

Calls and overlap are counted on the CUDA test driver, instructions in the machine code, shares of the roofline by the
model of docs/gpu-evidence.md. Speeds are those of software drivers, in turns with an earlier commit."""

import re
import sys
from pathlib import Path

from tools import fix_mutants, suite
from tools.bench import device_speeds
from tools.evidence import Figure, output_of, run_soak
from tools.gpu_evidence import collect, page

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
BIN = BUILD / "release" / "bin"
STEPS = {"f32": 128, "i8": 32}  # multiply-adds, and dot products of four bytes, of a distance
OVER_STEPS = {"f32": 1.25, "i8": 1.5}
GOLDEN_BEFORE = 13  # situations with golden outputs before docs/first-gpu.md was written
SHARES = {1: 0.6, 100: 0.5, 10_000: 0.4}


def found(pattern: str, text: str) -> list[float]:
    match = re.search(pattern, text, re.MULTILINE)
    return [float(number) for number in match.groups()] if match else []


def calls() -> list[Figure]:
    suite.build("release", "cuda_hip_search_test")
    text = output_of("ctest", "--test-dir", BUILD / "release", "-R", "SearchCallsTest", "--verbose", root=ROOT)
    launches, copies, waits = found(r"(\d+) launches, (\d+) copies, (\d+) waits", text)
    (overlapped,) = found(r"overlapped: ([\d.]+)", text)
    (pageable,) = found(r"overlapped without pinned memory: ([\d.]+)", text)
    return [Figure.measured("one query on the test driver", launches, "launches", "<= 8"),
            Figure.measured("one query on the test driver", copies, "copies", "<= 3"),
            Figure.measured("one query on the test driver", waits, "waits", "<= 1"),
            Figure.measured("10,000 queries: host work overlapped with the device's", overlapped, "of its time", ">= 0.9"),
            Figure.measured("the same with pageable memory", pageable, "of its time", "<= 0.5")]


def machine_code() -> list[Figure]:
    suite.build("release", "vectis-kernels")
    evidence = collect.collect(BIN / "vectis-kernels", BUILD / "gpu-evidence")
    rows = evidence.of("sm_90")
    figures = []
    for element, steps in STEPS.items():
        cost = rows[f"scan_bounds {element}, 128 x 128"].cost
        figures += [Figure.measured(f"scan_bounds {element}, sm_90: instructions per distance",
                                    round(cost.instructions / steps, 3), "times its multiply-adds",
                                    f"<= {OVER_STEPS[element]}"),
                    Figure.measured(f"scan_bounds {element}, sm_90: epilogue", round(cost.rest, 1),
                                    "instructions per distance", "<= 8")]
    mma = rows["scan_bounds i8, 128 x 128, mma"].cost
    shared = rows["scan_bounds f32, 128 x 128"].counts
    figures += [Figure.measured("scan_bounds i8 by matrix units, sm_90", round(mma.instructions, 1),
                                "instructions per distance", "<= 48"),
                Figure.measured("scan_bounds f32, sm_90: loads of shared memory",
                                round(shared["LDS"] / shared["FFMA"], 4), "per FFMA", "<= 0.125"),
                Figure.measured("kernels with spills that have no reason", len(evidence.unexplained()), "kernels", "== 0")]
    return figures + predicted(evidence)


def predicted(evidence: collect.Evidence) -> list[Figure]:
    figures = []
    for card in ("RTX 4090", "H100 SXM"):
        for element in ("f32", "i8"):
            for (queries, aim), one in zip(SHARES.items(), page.shares(evidence)[card, element], strict=True):
                figures.append(Figure.measured(f"predicted share of the roofline, {card}, {element}, {queries} queries, "
                                               f"limited by {one.wall}", round(one.share, 3), "of the hardware's speed",
                                               f">= {aim}"))
    return figures


def lanes() -> list[Figure]:
    verdicts = fix_mutants.run("int8 matrix units")
    return [Figure.measured("planted errors of lanes", len(verdicts), "errors", ">= 6"),
            Figure.measured("planted errors of lanes that are not caught", sum(not one.caught for one in verdicts),
                            "errors", "== 0")]


def speeds() -> list[Figure]:
    suite.build("release", *device_speeds.TARGETS)
    return [Figure.measured(f"exact search on {driver}, {precision}, batches of {queries}: rounds from "
                            f"{min(times.ratios):.2f} to {max(times.ratios):.2f}", round(times.ratio, 3),
                            f"times the speed of {device_speeds.BEFORE[:7]}", f">= {device_speeds.SPEED_MIN}")
            for (driver, precision, queries), times in device_speeds.speeds(BIN / "vectis").items()]


def doctor() -> list[Figure]:
    golden = list((ROOT / "tests" / "golden").glob("doctor/*"))
    return [Figure.measured("new golden outputs of the doctor", len(golden) - GOLDEN_BEFORE, "situations", ">= 12")]


MEASUREMENTS = {"calls": calls, "machine code": machine_code, "lanes": lanes, "speeds": speeds,
                "doctor": doctor}

if __name__ == "__main__":
    sys.exit(run_soak("gpu-ready", ROOT, MEASUREMENTS))
