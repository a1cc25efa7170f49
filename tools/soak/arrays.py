"""`./dev soak arrays`: arrays on every device at full count and beside PyTorch, written to docs/evidence/arrays.json.

CUDA and HIP run on the test driver, OpenCL on PoCL, WebGPU on lavapipe. PyTorch is installed in build/arrays-venv (6 GB).
Speeds are compared with one thread on each side, by CPU time. ARRAY_API_TESTS_PATH is a clone of
data-apis/array-api-tests with its submodule; its cell fails without it."""

import json
import os
import re
import statistics
import sys
from pathlib import Path

from tools import suite
from tools.bench import array_sample
from tools.bench.array_contest import Contest, Peer, Program, geometric_mean, python
from tools.evidence import Figure, Measurement, output_of, run_soak

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "release"
GRAPHS = {"cpu": 20_000, "opencl": 1_000, "webgpu": 1_000, "cuda": 1_000, "hip": 1_000}
DEVICES = [device for device in GRAPHS if device != "cpu"]
EVERY_CASE = 1_000  # more than there are


def declared() -> list[Figure]:
    """Counts functions of the public headers that return arrays, each name once, and classes of primitives."""
    headers = [ROOT / "include" / "vectis" / "array" / f"{name}.hpp" for name in ("operations", "neural", "random")]
    text = "\n".join(header.read_text() for header in headers)
    operations = set(re.findall(
        r"^(?:VECTIS_API |\[\[nodiscard\]\] )*(?:inline )?(?:std::vector<Tensor>|std::pair<Tensor, Tensor>|Tensor|Unique) "
        r"(\w+)\(", text, re.MULTILINE)) | set(re.findall(r"^  Tensor (\w+)\(", text, re.MULTILINE))
    primitives = set()
    for source in sorted((ROOT / "src" / "array").rglob("*.cpp")):
        if "linalg" not in source.name:
            primitives |= set(re.findall(r"^class (\w+) final : public (?:View)?Primitive", source.read_text(), re.MULTILINE))
    return [Figure.measured("operations", len(operations), "operations", ">= 120"),
            Figure.measured("primitives", len(primitives), "primitives", "<= 40")]


def tests(pattern: str, runs: int) -> None:
    """Fails when a test fails or there is none."""
    suite.build("release", "arrays_test", "arrays_devices_test")
    output_of("ctest", "--test-dir", BUILD, "-R", pattern, "--no-tests=error", "--timeout", "1700", root=ROOT,
              env={"VECTIS_TEST_RUNS": str(runs)})


def graphs(device: str) -> Measurement:
    def measure() -> list[Figure]:
        pattern = r"ArrayGraphs\." if device == "cpu" else rf"EveryArrayDevice\.AgreesOnGraphs.*/{device}"
        tests(pattern, GRAPHS[device] // 2)  # half of real numbers, half of integers
        return [Figure.measured(f"random graphs within the stated error on {device}", GRAPHS[device], "graphs",
                                f">= {GRAPHS[device]}")]
    return measure


def operations(device: str) -> Measurement:
    def measure() -> list[Figure]:
        tests(rf"EveryArrayDevice\.HasTheValuesAndGradientsOfTheCpu/{device}", EVERY_CASE)
        text = (ROOT / "tests" / "arrays" / "operation_cases.hpp").read_text()
        cases = len(re.findall(r'^ +\{"[\w ]+",', text, re.MULTILINE))
        return [Figure.measured(f"functions with the values and gradients of the CPU on {device}", cases, "functions",
                                ">= 80")]
    return measure


def build_for_peers(*targets: str) -> None:
    suite.build("release", "vectis_python", *targets)


def products() -> list[Figure]:
    """float32 beside oneDNN called directly, bfloat16 beside PyTorch."""
    build_for_peers("arrays_matmul_bench")
    printed = output_of(BUILD / "bin" / "arrays_matmul_bench", 1, root=ROOT, env={"OMP_NUM_THREADS": "1"})
    figures = [Figure.measured(f"float32 product of {row['size']}", round(row["ratio"], 3), "of oneDNN bare", ">= 0.97")
               for row in json.loads(printed)]
    with Contest(["torch"]) as contest:
        for size in (512, 1024, 2048, 4096):
            ratio = contest.ratios(41 if size < 2048 else 15, prepare="matmul", size=size, dtype="bfloat16")["torch"]
            figures.append(Figure.measured(f"bfloat16 product of {size}", round(ratio, 2), "of PyTorch", ">= 1"))
    return figures


def chain() -> list[Figure]:
    """Six element-wise operations on 10 M floats."""
    build_for_peers()
    aims = {"numpy": ("NumPy", ">= 3"), "torch": ("PyTorch", ">= 1.5"), "compiled": ("torch.compile", ">= 1")}
    figures = []
    with Contest(list(aims)) as contest:
        for kind, name in (("arithmetic", "arithmetic"), ("functions", "with exp and tanh")):
            for peer, ratio in contest.ratios(15, prepare="chain", count=10_000_000, kind=kind).items():
                label, aim = aims[peer]
                figures.append(Figure.measured(f"six operations, {name}, over {label}", round(ratio, 2), "times", aim))
    return figures


def convolution() -> list[Figure]:
    build_for_peers()
    with Contest(["torch"]) as contest:
        ratio = contest.ratios(21, prepare="conv", batch=16, channels=64, extent=56)["torch"]
    return [Figure.measured("conv2d 3x3, 64 to 64, 56x56, batch 16, forward and backward", round(ratio, 2), "of PyTorch", ">= 1")]


CASES = 160  # of each operation
ONE_ELEMENT = ("add", "multiply", "exp", "tanh")


def overhead() -> list[Figure]:
    """Operations on one element with their gradients: time over that of PyTorch eager in Python."""
    build_for_peers("arrays_bench")
    native = Program([BUILD / "bin" / "arrays_bench", "1"])
    shares: dict[str, list[float]] = {"C++": [], "Python": []}
    with Contest(["torch"]) as contest:
        for name in ONE_ELEMENT:
            times = contest.times(21, prepare="one_element", name=name)
            theirs = statistics.median(times["torch"])
            shares["Python"].append(statistics.median(times["vectis"]) / theirs)
            native.line(f"one {name}")
            shares["C++"].append(statistics.median(float(native.line("run")) for _ in range(21)) / theirs)
    native.close()
    return [Figure.measured(f"an operation on one element, forward and backward, in {side}", round(geometric_mean(values), 2),
                            "of PyTorch", aim) for (side, values), aim in zip(shares.items(), ("<= 0.5", "<= 1"), strict=True)]


def memory() -> list[Figure]:
    """Growth of the resident memory at most, in new processes, after the same on small arrays."""
    build_for_peers()
    grown = {}
    for library in ("vectis", "torch"):
        peer = Peer(library, 1)
        peer.ask(prepare="layers", batch=64, width=128)
        peer.ask(run=2)
        peer.ask(prepare="layers", batch=4096, width=1024)
        grown[library] = peer.ask(memory=True)
        print(f"{library}: {grown[library] / 2**20:.0f} MiB")
        peer.close()
    return [Figure.measured("peak memory of ten layers, forward and backward", round(grown["vectis"] / grown["torch"], 2),
                            "of PyTorch", "<= 1")]


def sample() -> list[Figure]:
    """30 random cells, by the seed of the commit, and the five of them that are slowest beside PyTorch."""
    build_for_peers()
    found = array_sample.measure(30, int(os.environ["VECTIS_TEST_SEED"]))
    slowest = sorted(found.items(), key=lambda item: item[1])[:5]
    return [Figure.measured("30 random cells, geometric mean", round(geometric_mean(found.values()), 2), "of PyTorch", ">= 1"),
            *(Figure.measured(f"slow cell: {cell}", round(ratio, 2), "of PyTorch", ">= 0.2") for cell, ratio in slowest)]


def agreement() -> list[Figure]:
    build_for_peers()
    printed = output_of(python(), "-W", "ignore", "-m", "tools.bench.array_agreement", os.environ["VECTIS_TEST_SEED"], CASES,
                        root=ROOT, env={"PYTHONPATH": f"{ROOT}:{BUILD / 'python'}"})
    found = json.loads(printed.splitlines()[-1])
    return [Figure.measured("operations with the values and gradients of float64 and PyTorch", found["agreeing"], "operations",
                            f">= {found['operations']}"),
            Figure.measured("random cases of them", found["cases"], "cases", ">= 20000")]


def standard() -> list[Figure]:
    """The test suite of the array API standard, with its own setting for types that we do not have."""
    build_for_peers()
    printed = output_of(python(), "-m", "tools.bench.array_api", root=ROOT, env={"PYTHONPATH": f"{ROOT}:{BUILD / 'python'}"})
    found = json.loads(printed.splitlines()[-1])
    tests = found["passed"] + found["failed"] + found["skipped"]
    return [Figure.measured("array-api-tests that fail", found["failed"], "tests", "<= 0"),
            Figure.measured("array-api-tests that pass", found["passed"], "tests", ">= 1000"),
            Figure.measured("array-api-tests skipped for other reasons than types", round(100 * found["skipped"] / tests, 1), "%", "<= 5")]


MEASUREMENTS: dict[str, Measurement] = {"declared": declared}
MEASUREMENTS |= {f"graphs on {device}": graphs(device) for device in GRAPHS}
MEASUREMENTS |= {f"operations on {device}": operations(device) for device in DEVICES}
MEASUREMENTS |= {"matrix products": products, "chain": chain, "convolution": convolution, "one element": overhead,
                 "peak memory": memory, "random sample": sample, "PyTorch": agreement, "array-api-tests": standard}

if __name__ == "__main__":
    sys.exit(run_soak("arrays", ROOT, MEASUREMENTS))
