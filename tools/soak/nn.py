"""`./dev soak nn`: training of networks beside PyTorch and at full count, written to docs/evidence/nn.json.

CUDA and HIP run on the test driver, OpenCL on PoCL, WebGPU on lavapipe. PyTorch and scikit-learn are installed in
build/arrays-venv (6 GB). Speeds are compared with one thread on each side, by CPU time."""

import json
import re
import sys
import tempfile
from pathlib import Path

from tools import suite
from tools.bench import digits, network_contest
from tools.bench.array_contest import geometric_mean, python
from tools.evidence import Figure, Measurement, output_of, run_soak
from tools.loader_fuzzing import fuzz

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "release"
DEVICES = ("opencl", "webgpu", "cuda", "hip")
READERS = ("load_checkpoint", "read_idx", "read_csv", "read_npy", "read_pnm")
EXECUTIONS = 5_000_000
KILLS = 200
EPOCHS = 5  # of training on devices, in tests/nn/curves_test.cpp
NETWORKS = 20
PREDICTED = 10  # networks whose memory is predicted
LINES = 30  # at most, of a program of the README
CASES = 72  # at least, in tests/nn/layer_cases.cpp

measured = Figure.measured

# The programs of networks_bench, with the least ratio of PyTorch's time to ours.
SPEEDS = {
    "mlp": ("training step of an MLP 784-512-256-10 with Adam, batch 128", 1.3),
    "lstm": ("LSTM, sequence 64, hidden 256, batch 32, forward and backward, float32", 1.3),
    "lstm16": ("the same LSTM in bfloat16", 1.3),
    "cnn": ("training step of a small CNN with Adam, 28x28, batch 128", 1.0),
    "transformer": ("training step of a transformer block with Adam, d 256, sequence 128, batch 16", 1.1),
}


def ctest(pattern: str, *targets: str, **environment: object) -> str:
    """Builds and runs tests; fails when one fails or there is none. Returns what they printed."""
    suite.build("release", *targets)
    return output_of("ctest", "--test-dir", BUILD, "-R", pattern, "--no-tests=error", "--timeout", "1700", "--verbose",
                     root=ROOT, env={name: str(value) for name, value in environment.items()})


def speed(network: str) -> Measurement:
    def measure() -> list[Figure]:
        suite.build("release", "networks_bench")
        name, aim = SPEEDS[network]
        return [measured(name, round(network_contest.ratio(network), 2), "of PyTorch", f">= {aim}")]
    return measure


def random_networks() -> list[Figure]:
    """By the seed of the commit. Both sides are in Python."""
    suite.build("release", "vectis_python")
    printed = output_of(python(), "-m", "tools.bench.network_sample", "--networks", NETWORKS, root=ROOT,
                        env={"PYTHONPATH": str(ROOT)})
    found = json.loads(printed.splitlines()[-1])
    ratios = dict(found["ratios"])
    mean = geometric_mean(filter(None, ratios.values()))
    return [measured("random architectures that train as PyTorch", found["agreeing"], "architectures", f">= {NETWORKS}"),
            measured("their step in Python, geometric mean", round(mean, 2), "of PyTorch", ">= 1"),
            *(measured(f"slow architecture: {network}", round(ratios[network], 2), "of PyTorch", ">= 0.2")
              for network in list(ratios)[-3:])]


def real_digits() -> list[Figure]:
    """A C++ program beside a script of PyTorch, each from start to end on one core."""
    suite.build("release", "train_digits")
    ours, theirs = digits.measure()
    print(ours, theirs)
    time, memory = ours.seconds / theirs.seconds, ours.peak_bytes / theirs.peak_bytes
    return [measured("training on digits to 97 %, wall time", round(time, 3), "of PyTorch", "<= 0.2"),
            measured("training on digits to 97 %, peak memory", round(memory, 3), "of PyTorch", "<= 0.2")]


def predicted_memory() -> list[Figure]:
    """Five kinds of networks and five drawn by the seed of the commit, on the CPU."""
    kinds = "Mlp|Cnn|Lstm|Transformer|NormsAndDropout|RandomNetworks"
    printed = ctest(rf"PredictedMemoryOf\.({kinds})$", "networks_memory_test", VECTIS_TEST_RUNS=PREDICTED - 5)
    ratios = [float(ratio) for ratio in re.findall(r'"device": "cpu".*"ratio": ([\d.]+)', printed)]
    return [measured("networks whose peak memory is within 10 % of the prediction",
                     sum(abs(ratio - 1) <= 0.1 for ratio in ratios), "networks", f">= {PREDICTED}"),
            measured("largest error of a prediction", round(100 * max(abs(ratio - 1) for ratio in ratios), 2), "%", "<= 10")]


def agreeing(printed: str) -> int:
    """The layers and losses that tests have compared."""
    return sum(map(int, re.findall(r"(\d+) cases agree", printed)))


def layers_of_the_cpu() -> list[Figure]:
    """Against PyTorch and against finite differences."""
    printed = ctest(r"LayerGradients\.|networks_torch\.", "networks_test", "networks_torch_test")
    return [measured("layers and losses with the values and gradients of PyTorch on cpu", agreeing(printed), "cases",
                     f">= {CASES}")]


def layers(device: str) -> Measurement:
    def measure() -> list[Figure]:
        printed = ctest(rf"EveryNetworkDevice\..*/{device}", "networks_devices_test")
        name = f"layers and losses with the values and gradients of the CPU on {device}"
        return [measured(name, agreeing(printed), "cases", f">= {CASES}")]
    return measure


def curves() -> list[Figure]:
    """Training on digits, whose epochs on each device have the loss of those on the CPU within 1 %."""
    with tempfile.TemporaryDirectory() as folder:
        digits.write_digits(Path(folder))
        printed = ctest("TrainingOnEveryDevice", "networks_devices_test", VECTIS_TEST_DIGITS=folder)
    found = {name: int(epochs) for name, epochs in re.findall(r"(\w+): (\d+) epochs of 1797 images", printed)}
    return [measured(f"epochs of training on digits with the loss of the CPU on {device}", found.get(device, 0), "epochs",
                     f">= {EPOCHS}") for device in DEVICES]


def kills() -> list[Figure]:
    printed = ctest("KillTest", "networks_kill_test", VECTIS_TEST_KILLS=KILLS)
    ((survived, with_checkpoint),) = re.findall(r"(\d+) kills, (\d+) of them with a checkpoint", printed)
    return [measured("kills after which training ends with the same weights", int(survived), "kills", f">= {KILLS}"),
            measured("of them with a checkpoint to continue from", int(with_checkpoint), "kills", f">= {KILLS // 4}")]


def readme() -> list[Figure]:
    """The lines of the programs that train a network, which are also tests."""
    text = (ROOT / "README.md").read_text()
    figures = []
    for language, label in (("cpp", "C++"), ("python", "Python")):
        programs = re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
        (lines,) = (len(program.splitlines()) for program in programs if "train(" in program)
        figures.append(measured(f"lines of the README's training program in {label}", lines, "lines", f"<= {LINES}"))
    return figures


MEASUREMENTS: dict[str, Measurement] = {name: speed(name) for name in SPEEDS}
MEASUREMENTS |= {"random architectures": random_networks, "digits": real_digits, "predicted memory": predicted_memory,
                 "layers on cpu": layers_of_the_cpu}
MEASUREMENTS |= {f"layers on {device}": layers(device) for device in DEVICES}
MEASUREMENTS |= {"training on devices": curves, "README": readme, "kills": kills}
MEASUREMENTS |= {f"fuzzing of {reader}": lambda reader=reader: fuzz(reader, EXECUTIONS) for reader in READERS}

if __name__ == "__main__":
    sys.exit(run_soak("nn", ROOT, MEASUREMENTS))
