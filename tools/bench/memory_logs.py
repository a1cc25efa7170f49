"""Writes the allocation logs of bench/memory-logs: `python3 tools/bench/memory_logs.py [folder]`.

Each is drawn from a seed of its own, so the files never change unless this program does. The format is
docs/formats/allocation-log.md.
"""

import random
import sys
from pathlib import Path

KIB = 1 << 10
MIB = 1 << 20
SIZES = {"fp32": 4, "fp16": 2, "bf16": 2, "int8": 1}


class Log:
    """Lines of a log; `allocate` returns the id that `release` wants."""

    def __init__(self, *comments: str):
        self.lines = ["vectis-allocation-log 1", *(f"# {comment}" for comment in comments)]
        self.live = {}
        self.live_bytes = 0
        self.allocations = 0

    def allocate(self, elements: int, precision: str, tag: str, stream: int = 0) -> int:
        self.allocations += 1
        size = elements * SIZES[precision]
        self.lines.append(f"a {self.allocations} {size} {precision} {stream} {tag}")
        self.live[self.allocations] = size
        self.live_bytes += size
        return self.allocations

    def release(self, *ids: int) -> None:
        for one in ids:
            self.live_bytes -= self.live.pop(one)
            self.lines.append(f"f {one}")

    def text(self) -> str:
        return "\n".join(self.lines) + "\n"


class Transformer:
    """A small decoder in bf16 with fp32 optimizer state; its buffers are those a framework would make."""

    layers, width, heads, vocabulary = 12, 768, 12, 32000

    def __init__(self, log: Log, draw: random.Random):
        self.log = log
        self.draw = draw
        wide = self.width * self.width
        self.shapes = [("embedding", self.vocabulary * self.width)]
        for layer in range(self.layers):
            self.shapes += [(f"layer{layer}.qkv", 3 * wide), (f"layer{layer}.project", wide),
                            (f"layer{layer}.up", 4 * wide), (f"layer{layer}.down", 4 * wide),
                            (f"layer{layer}.norms", 4 * self.width)]
        for name, elements in self.shapes:
            log.allocate(elements, "bf16", f"weights/{name}", 1)
            log.allocate(elements, "fp32", "optimizer/master", 1)
            log.allocate(elements, "fp32", "optimizer/first", 1)
            log.allocate(elements, "fp32", "optimizer/second", 1)

    def temporary(self, elements: int, precision: str, tag: str) -> None:
        self.log.release(self.log.allocate(elements, precision, tag, 1))

    def forward_layer(self, batch: int, length: int) -> list[int]:
        """Returns what backward will need."""
        log, tokens = self.log, batch * length
        saved = [log.allocate(tokens * self.width, "bf16", "activations/norm", 1),
                 log.allocate(tokens, "fp32", "activations/statistics", 1),
                 log.allocate(tokens * 3 * self.width, "bf16", "activations/qkv", 1)]
        scores = log.allocate(batch * self.heads * length * min(length, 256), "bf16", "workspace/scores", 1)
        saved.append(log.allocate(tokens * self.heads, "fp32", "activations/softmax", 1))
        saved.append(log.allocate(tokens * self.width, "bf16", "activations/attention", 1))
        log.release(scores)
        self.temporary(8 * MIB, "int8", "workspace/gemm")
        saved.append(log.allocate(tokens * self.width, "bf16", "activations/residual", 1))
        saved.append(log.allocate(tokens, "fp32", "activations/statistics", 1))
        up = log.allocate(tokens * 4 * self.width, "bf16", "activations/up", 1)
        self.temporary(8 * MIB, "int8", "workspace/gemm")
        saved += [up, log.allocate(tokens * 4 * self.width, "bf16", "activations/gelu", 1)]
        saved.append(log.allocate((tokens * self.width + 7) // 8, "int8", "activations/dropout-mask", 1))
        return saved

    def backward_layer(self, layer: int, saved: list[int], gradient: int, batch: int, length: int) -> tuple[int, list[int]]:
        """Returns the gradient for the layer below and the weights' gradients."""
        log, tokens, wide = self.log, batch * length, self.width * self.width
        weights = []
        inner = log.allocate(tokens * 4 * self.width, "bf16", "gradients/up", 1)
        weights.append(log.allocate(4 * wide, "bf16", f"gradients/layer{layer}.down", 1))
        self.temporary(8 * MIB, "int8", "workspace/gemm")
        log.release(saved.pop(), saved.pop())
        weights.append(log.allocate(4 * wide, "bf16", f"gradients/layer{layer}.up", 1))
        log.release(inner, saved.pop())
        scores = log.allocate(batch * self.heads * length * min(length, 256), "bf16", "workspace/scores", 1)
        three = log.allocate(tokens * 3 * self.width, "bf16", "gradients/qkv", 1)
        weights.append(log.allocate(wide, "bf16", f"gradients/layer{layer}.project", 1))
        weights.append(log.allocate(3 * wide, "bf16", f"gradients/layer{layer}.qkv", 1))
        log.release(scores, *reversed(saved))
        weights.append(log.allocate(4 * self.width, "bf16", f"gradients/layer{layer}.norms", 1))
        below = log.allocate(tokens * self.width, "bf16", "gradients/hidden", 1)
        log.release(three, gradient)
        return below, weights

    def step(self) -> None:
        log = self.log
        batch = self.draw.choice([4, 6, 8, 8, 8, 8])
        length = 64 * self.draw.randint(4, 8)  # the longest text of the batch, rounded by the loader
        tokens = batch * length
        inputs = [log.allocate(tokens * 4, "int8", "batch/tokens", 2), log.allocate(tokens * 4, "int8", "batch/targets", 2)]
        hidden = log.allocate(tokens * self.width, "bf16", "activations/embedding", 1)
        saved = [self.forward_layer(batch, length) for _ in range(self.layers)]
        chunk = tokens // 4  # the loss is computed in quarters, as the logits are large
        for _ in range(4):
            logits = log.allocate(chunk * self.vocabulary, "bf16", "workspace/logits", 1)
            self.temporary(chunk, "fp32", "loss")
            log.release(logits)
        gradient = log.allocate(tokens * self.width, "bf16", "gradients/hidden", 1)
        gradients = []
        for layer in reversed(range(self.layers)):
            gradient, weights = self.backward_layer(layer, saved.pop(), gradient, batch, length)
            gradients += weights
        gradients.append(log.allocate(self.vocabulary * self.width, "bf16", "gradients/embedding", 1))
        log.release(hidden, gradient, *inputs)
        norms = [log.allocate(1, "fp32", "optimizer/norm", 1) for _ in gradients]
        log.release(*norms)
        for one in gradients:
            self.temporary(64 * KIB, "int8", "workspace/optimizer")
            log.release(one)


def training_step(seed: int = 41) -> Log:
    log = Log(f"12 layers of a transformer trained for 16 steps with varying batches; seed {seed}")
    model = Transformer(log, random.Random(seed))
    for _ in range(16):
        model.step()
    return log


def search_batch(log: Log, draw: random.Random, stream: int) -> list[int]:
    """One batch of queries; returns the results, which live a little longer."""
    dimensions, k, tile = 384, draw.choice([10, 10, 10, 100]), 16 * KIB
    queries = max(1, min(4096, int(2 ** draw.gauss(5, 2))))
    host = log.allocate(queries * dimensions, "fp32", "queries/fp32", stream)
    codes = log.allocate(queries * dimensions, "int8", "queries/codes", stream)
    norms = log.allocate(queries, "fp32", "queries/norms", stream)
    best = [log.allocate(queries * k * 4, "fp32", "topk/scratch", stream) for _ in range(2)]
    for _ in range(draw.randint(2, 6)):
        rows = min(queries, 512)
        distances = log.allocate(rows * tile, "fp32", "tiles/distances", stream)
        counts = log.allocate(rows, "fp32", "tiles/survivors", stream)
        log.release(counts, distances)
    results = [log.allocate(queries * k, "fp32", "results/distances", stream),
               log.allocate(queries * k * 2, "fp32", "results/ids", stream)]
    log.release(*best, norms, codes, host)
    return results


def search_batches(seed: int = 42) -> Log:
    log = Log(f"450 batches of queries on two streams over an index whose segments grow and merge; seed {seed}")
    draw = random.Random(seed)
    dimensions = 384
    segments = []  # (rows, ids)
    results = []
    for number in range(450):
        if number % 12 == 0:
            rows = draw.randint(20_000, 60_000)
            segments.append((rows, [log.allocate(rows * dimensions, "int8", "index/codes"),
                                    log.allocate(rows, "fp32", "index/norms"),
                                    log.allocate(rows * 2, "fp32", "index/ids")]))
        if len(segments) > 8:  # the four smallest become one
            segments.sort(reverse=True)
            merged, segments = segments[-4:], segments[:-4]
            rows = sum(one[0] for one in merged)
            segments.append((rows, [log.allocate(rows * dimensions, "int8", "index/codes"),
                                    log.allocate(rows, "fp32", "index/norms"),
                                    log.allocate(rows * 2, "fp32", "index/ids")]))
            for _, ids in merged:
                log.release(*ids)
        results.append(search_batch(log, draw, 1 + number % 2))
        if len(results) > 6:
            log.release(*results.pop(draw.randrange(3)))
    return log


def random_sizes(seed: int = 43) -> Log:
    log = Log(f"sizes log-uniform from 256 B to 64 MiB, random lifetimes, at most 2 GiB live; seed {seed}")
    draw = random.Random(seed)
    for _ in range(8000):
        size = int(256 * 2 ** draw.uniform(0, 18))
        while log.live and (log.live_bytes + size > 2 * KIB * MIB or draw.random() < 0.4):
            log.release(draw.choice(list(log.live)))
        precision = draw.choice(list(SIZES))
        log.allocate(max(1, size // SIZES[precision]), precision, "random")
    return log


LOGS = {"training-step": training_step, "search-batches": search_batches, "random": random_sizes}


def main(arguments: list[str]) -> int:
    if len(arguments) > 1 or any(argument.startswith("-") for argument in arguments):
        print("usage: python3 -m tools.bench.memory_logs [FOLDER]", file=sys.stderr)
        return 2
    folder = Path(arguments[0]) if arguments else Path(__file__).resolve().parents[2] / "bench" / "memory-logs"
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in LOGS.items():
        (folder / f"{name}.log").write_text(make().text(), encoding="ascii")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
