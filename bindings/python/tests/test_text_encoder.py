"""Text encoders and tokenizers: a published model against what transformers and tokenizers compute."""

from __future__ import annotations

import copy
import json
import os
import pickle
import random
import re
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import vectis
import vectis.array as xp
import vectis.nn as nn
from conftest import seed
from tokenizers import Tokenizer

DATA = Path(__file__).resolve().parent / "data"
MODEL = Path(os.environ["VECTIS_TEST_MODEL"])
TEXTS: list[str] = json.loads((DATA / "minilm_texts.json").read_text(encoding="utf-8"))
STRINGS = 1500
PACKAGES = Path("/var/lib/dpkg/status")


@pytest.fixture(scope="module")
def encoder() -> nn.TextEncoder:
    return nn.TextEncoder.load(MODEL)


@pytest.fixture(scope="module")
def expected() -> np.ndarray:
    vectors: np.ndarray = np.load(DATA / "minilm_vectors.npy")
    return vectors


# --- The encoder ------------------------------------------------------------------------------------------------------

def test_vectors_are_those_of_transformers(encoder: nn.TextEncoder, expected: np.ndarray) -> None:
    vectors = encoder.encode(TEXTS)
    assert vectors.shape == (50, 384) and vectors.dtype == xp.float32
    assert np.abs(np.asarray(vectors) - expected).max() < 1e-4


def test_one_text_is_one_vector(encoder: nn.TextEncoder, expected: np.ndarray) -> None:
    vector = encoder.encode(TEXTS[5])
    assert vector.shape == (384,)
    assert np.abs(np.asarray(vector) - expected[5]).max() < 1e-4


def test_weights_of_16_bits_are_near(expected: np.ndarray) -> None:
    encoder = nn.TextEncoder.load(MODEL, dtype="bfloat16")
    vectors = np.asarray(encoder.encode(TEXTS[:20]))
    assert vectors.dtype == np.float32
    assert (vectors * expected[:20]).sum(axis=1).min() > 0.99


def test_attributes(encoder: nn.TextEncoder) -> None:
    assert (encoder.dim, encoder.max_length, encoder.pooling, encoder.normalizes) == (384, 256, "mean", True)
    assert "384 dimensions" in repr(encoder)
    other = nn.TextEncoder.load(str(MODEL), max_length=16, pooling="cls", normalize=False)
    assert (other.max_length, other.pooling, other.normalizes) == (16, "cls", False)


def test_texts_of_any_iterable(encoder: nn.TextEncoder) -> None:
    vectors = np.asarray(encoder.encode(TEXTS[:3], batch_size=2))
    for texts in (tuple(TEXTS[:3]), iter(TEXTS[:3]), np.array(TEXTS[:3])):
        assert np.abs(np.asarray(encoder.encode(texts)) - vectors).max() < 1e-5
    assert encoder.encode([]).shape == (0, 384)


def test_semantic_search(encoder: nn.TextEncoder) -> None:
    texts = ["A text editor for programmers", "Plays films and music", "A web browser", "Compresses files"]
    index = vectis.Index(dim=encoder.dim, metric="cosine")
    index.add(encoder.encode(texts))
    ids, _ = index.search(encoder.encode("watch a video"), k=1)
    assert ids[0] == 1


def test_progress_timeout_and_cancel(encoder: nn.TextEncoder) -> None:
    seen: list[tuple[str, int, int]] = []
    encoder.encode(TEXTS[:6], 2, progress=lambda *call: seen.append(call))
    assert seen[-1] == ("encode", 6, 6)
    with pytest.raises(vectis.errors.DeadlineExceededError):
        encoder.encode(TEXTS, timeout=0)
    source = vectis.CancelSource()
    source.cancel()
    with pytest.raises(vectis.errors.CancelledError):
        encoder.encode(TEXTS, cancel=source)


def test_threads_share_an_encoder(encoder: nn.TextEncoder) -> None:
    texts = TEXTS[:12]
    first = np.asarray(encoder.encode(texts))
    found: list[np.ndarray] = []
    threads = [threading.Thread(target=lambda: found.append(np.asarray(encoder.encode(texts)))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 3 and all(np.array_equal(one, first) for one in found)


@pytest.mark.parametrize(("call", "message"), [
    (lambda encoder: encoder.encode([b"bytes"]), "text 0 is of type bytes"),
    (lambda encoder: encoder.encode(["a", None]), "text 1"),
    (lambda encoder: encoder.encode(["\ud800"]), "text 0"),
    (lambda encoder: encoder.encode(["a"], batch_size=0), "batch_size is 0"),
    (lambda encoder: nn.TextEncoder.load(MODEL, max_length=2), "give 3 to 512"),
    (lambda encoder: nn.TextEncoder.load(MODEL, pooling="sum"), "'mean', 'cls' or 'max'"),
    (lambda encoder: nn.TextEncoder.load(MODEL, dtype="float64"), "float64"),
])
def test_misuse(encoder: nn.TextEncoder, call: Callable[[nn.TextEncoder], object], message: str) -> None:
    with pytest.raises(vectis.errors.InvalidInputError, match=message):
        call(encoder)


def test_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(vectis.errors.IoError, match="neither tokenizer.json nor vocab.txt"):
        nn.TextEncoder.load(tmp_path)


# --- BERT -------------------------------------------------------------------------------------------------------------

def tiny_bert() -> nn.Bert:
    return nn.Bert(vocab_size=9, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=6,
                   max_position_embeddings=5, random=nn.Generator(1)).eval()


def test_bert_of_the_model_computes_the_vectors(encoder: nn.TextEncoder, expected: np.ndarray) -> None:
    bert = nn.Bert.load(MODEL)
    assert not bert.training and len(bert.parameters()) == 5 + 6 * 16
    ids = encoder.tokenizer.encode(TEXTS[8])
    mean = np.asarray(bert(xp.asarray([ids]))).mean(axis=1)[0]
    assert np.abs(mean / np.linalg.norm(mean) - expected[8]).max() < 1e-4


def test_bert_is_a_module() -> None:
    bert, ids = tiny_bert(), xp.asarray([[1, 2, 3]])
    expected = np.asarray(bert(ids))
    assert bert.encoder.layer[0].attention.self.query.weight.shape == (8, 8)
    for other in (copy.deepcopy(bert), pickle.loads(pickle.dumps(bert))):
        assert np.array_equal(np.asarray(other(ids)), expected)
    padded = bert(xp.asarray([[1, 2, 3, 0]]), padding=xp.asarray([[False, False, False, True]]))
    assert np.abs(np.asarray(padded)[:, :3] - expected).max() < 1e-6
    types = bert(ids, token_types=xp.asarray([[1, 1, 1]]))
    assert np.abs(np.asarray(types) - expected).max() > 1e-4
    with pytest.raises(vectis.errors.InvalidInputError, match="at most 5"):
        bert(xp.zeros((1, 6), dtype="int32"))


# --- Tokenizers -------------------------------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def reference() -> Tokenizer:
    tokenizer = Tokenizer.from_file(str(MODEL / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


# Ranges of characters: ASCII, Latin, all, letters with marks, controls, Chinese, Japanese and Korean.
RANGES = [[(0, 0x7F)], [(0, 0x24F)], [(0, 0x2FFF)], [(0, 0x10FFFF)], [(0x300, 0x36F), (0x41, 0x7A), (0x20, 0x20)],
          [(0, 0x20), (0x7F, 0xA0), (0x200B, 0x200F), (0xAD, 0xAD), (0xFFFD, 0xFFFD), (0x61, 0x63)],
          [(0x4E00, 0x9FFF), (0xAC00, 0xD7A3), (0x3040, 0x30FF)]]
SPECIAL = ["[CLS]", "[SEP]", "[MASK]", "[UNK]", "[PAD]", "[mask]", "[", "]", "MASK", " ", "a", "\u00c9", "\n"]


def random_text(rng: random.Random, vocabulary: list[str]) -> str:
    length = int(rng.expovariate(1 / 40))
    kind = rng.randrange(len(RANGES) + 2)
    if kind < len(RANGES):
        points = (rng.randint(*rng.choice(RANGES[kind])) for _ in range(length))
        return "".join(chr(point) for point in points if not 0xD800 <= point < 0xE000)
    if kind == len(RANGES):
        return "".join(rng.choice(SPECIAL) for _ in range(length))
    return "".join(rng.choice(vocabulary) + rng.choice(["", " ", "-"]) for _ in range(length // 3))


def long_words(rng: random.Random) -> list[str]:
    """Words of 100 KB."""
    return ["a" * 100_000, "".join(rng.choices("abcdefgh", k=100_000)),
            "e" + "".join(chr(rng.randrange(0x300, 0x370)) for _ in range(50_000))]


def package_descriptions() -> list[str]:
    text = PACKAGES.read_text(encoding="utf-8", errors="replace") if PACKAGES.is_file() else ""
    return re.findall(r"^Description: (.*(?:\n .*)*)", text, re.MULTILINE)


def test_numbers_are_those_of_tokenizers(reference: Tokenizer) -> None:
    rng = random.Random(seed())
    vocabulary = sorted(reference.get_vocab())
    descriptions = package_descriptions()
    texts = [random_text(rng, vocabulary) for _ in range(STRINGS)] + long_words(rng) + TEXTS
    texts += rng.sample(descriptions, min(STRINGS // 3, len(descriptions)))
    ours = nn.WordPieceTokenizer.load(MODEL)
    different = [text for text, encoding in zip(texts, reference.encode_batch(texts), strict=True)
                 if ours.encode(text) != encoding.ids]
    assert different == []


def test_truncation_is_that_of_tokenizers() -> None:
    reference, ours = Tokenizer.from_file(str(MODEL / "tokenizer.json")), nn.WordPieceTokenizer.load(MODEL)
    reference.no_padding()
    for length in (3, 4, 17, 256):
        reference.enable_truncation(length)
        assert all(ours.encode(text, length) == reference.encode(text).ids for text in TEXTS)


def test_vocabulary_file_equals_the_json(tmp_path: Path) -> None:
    for name in ("vocab.txt", "tokenizer_config.json"):
        (tmp_path / name).write_bytes((MODEL / name).read_bytes())
    ours, other = nn.WordPieceTokenizer.load(MODEL), nn.WordPieceTokenizer.load(tmp_path)
    assert all(ours.encode(text) == other.encode(text) for text in TEXTS)


def test_tokenizer_attributes() -> None:
    tokenizer = nn.WordPieceTokenizer.from_json((MODEL / "tokenizer.json").read_text(encoding="utf-8"))
    assert (tokenizer.id("search"), tokenizer.id("no such token")) == (3945, None)
    assert (tokenizer.id_max, tokenizer.added_count, tokenizer.is_lowercase) == (30_521, 2, True)
    with pytest.raises(vectis.errors.InvalidInputError, match="give at least 3"):
        tokenizer.encode("text", 2)
    with pytest.raises(vectis.errors.CorruptDataError):
        nn.WordPieceTokenizer.from_json("{")
