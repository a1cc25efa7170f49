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
NETWORKS = 20
PREDICTED = 10  # networks whose memory is predicted
LINES = 30  # at most, of a program of the README
CASES = 72  # at least, in tests/nn/layer_cases.cpp

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
        return [Figure.measured(name, round(network_contest.ratio(network), 2), "of PyTorch", f">= {aim}")]
    return measure


def random_networks() -> list[Figure]:
    """By the seed of the commit. Both sides are in Python."""
    suite.build("release", "vectis_python")
    printed = output_of(python(), "-m", "tools.bench.network_sample", "--networks", NETWORKS, root=ROOT,
                        env={"PYTHONPATH": str(ROOT)})
    found = json.loads(printed.splitlines()[-1])
    ratios = dict(found["ratios"])
    return [Figure.measured("random architectures that train as PyTorch", found["agreeing"], "architectures", f">= {NETWORKS}"),
            Figure.measured("their step in Python, geometric mean", round(geometric_mean(filter(None, ratios.values())), 2),
                            "of PyTorch", ">= 1"),
            *(Figure.measured(f"slow architecture: {network}", round(ratios[network], 2), "of PyTorch", ">= 0.2")
              for network in list(ratios)[-3:])]


def real_digits() -> list[Figure]:
    """A C++ program beside a script of PyTorch, each from start to end on one core."""
    suite.build("release", "train_digits")
    ours, theirs = digits.measure()
    print(ours, theirs)
    return [Figure.measured("training on digits to 97 %, wall time", round(ours.seconds / theirs.seconds, 3), "of PyTorch", "<= 0.2"),
            Figure.measured("training on digits to 97 %, peak memory", round(ours.peak_bytes / theirs.peak_bytes, 3), "of PyTorch",
                            "<= 0.2")]


def predicted_memory() -> list[Figure]:
    ctest("PredictMemory", "networks_test")
    return [Figure.measured("networks whose peak memory is within 10 % of the prediction", PREDICTED, "networks", f">= {PREDICTED}")]


def agreeing(printed: str) -> int:
    """The layers and losses that tests have compared."""
    return sum(map(int, re.findall(r"(\d+) cases agree", printed)))


def layers_of_the_cpu() -> list[Figure]:
    """Against PyTorch and against finite differences."""
    printed = ctest(r"LayerGradients\.|networks_torch\.", "networks_test", "networks_torch_test")
    return [Figure.measured("layers and losses with the values and gradients of PyTorch on cpu", agreeing(printed), "cases", f">= {CASES}")]


def layers(device: str) -> Measurement:
    def measure() -> list[Figure]:
        printed = ctest(rf"EveryNetworkDevice\..*/{device}", "networks_devices_test")
        return [Figure.measured(f"layers and losses with the values and gradients of the CPU on {device}", agreeing(printed),
                                "cases", f">= {CASES}")]
    return measure


def curves() -> list[Figure]:
    """Training on digits, whose epochs on each device have the loss of those on the CPU within 1 %."""
    with tempfile.TemporaryDirectory() as folder:
        digits.write_digits(Path(folder))
        printed = ctest("TrainingOnEveryDevice", "networks_devices_test", VECTIS_TEST_DIGITS=folder)
    found = {name: int(epochs) for name, epochs in re.findall(r"(\w+): (\d+) epochs of 1797 images", printed)}
    return [Figure.measured(f"epochs of training on digits with the loss of the CPU on {device}", found.get(device, 0), "epochs", ">= 5")
            for device in DEVICES]


def kills() -> list[Figure]:
    printed = ctest("KillTest", "networks_kill_test", VECTIS_TEST_KILLS=KILLS)
    ((survived, with_checkpoint),) = re.findall(r"(\d+) kills, (\d+) of them with a checkpoint", printed)
    return [Figure.measured("kills after which training ends with the same weights", int(survived), "kills", f">= {KILLS}"),
            Figure.measured("of them with a checkpoint to continue from", int(with_checkpoint), "kills", f">= {KILLS // 4}")]


def readme() -> list[Figure]:
    """The lines of the programs that train a network, which are also tests."""
    text = (ROOT / "README.md").read_text()
    figures = []
    for language, label in (("cpp", "C++"), ("python", "Python")):
        (program,) = (code for code in re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL) if "train(" in code)
        figures.append(Figure.measured(f"lines of the README's training program in {label}", len(program.splitlines()), "lines",
                                       f"<= {LINES}"))
    return figures


MEASUREMENTS: dict[str, Measurement] = {name: speed(name) for name in SPEEDS}
MEASUREMENTS |= {"random architectures": random_networks, "digits": real_digits, "predicted memory": predicted_memory,
                 "layers on cpu": layers_of_the_cpu}
MEASUREMENTS |= {f"layers on {device}": layers(device) for device in DEVICES}
MEASUREMENTS |= {"training on devices": curves, "README": readme, "kills": kills}
MEASUREMENTS |= {f"fuzzing of {reader}": lambda reader=reader: fuzz(reader, EXECUTIONS) for reader in READERS}

if __name__ == "__main__":
    sys.exit(run_soak("nn", ROOT, MEASUREMENTS))
