"""Semantic search over the descriptions of Debian packages that this machine knows.

Embeds descriptions by latent semantic analysis (TF-IDF and a truncated SVD, with NumPy alone), or, with
`--model`, by a sentence-transformers model that you have installed:

    python package_search.py "play music files" --limit 20000
    python package_search.py "play music files" --model all-MiniLM-L6-v2
"""

import argparse
import re
import subprocess
from collections import Counter

import numpy as np

import vectis


def packages(limit: int) -> list[tuple[str, str]]:
    """Name and short description of the packages that `apt-get update` stored, or of those installed."""
    listed = subprocess.run(["apt-cache", "dumpavail"], capture_output=True, text=True, check=True).stdout
    found: dict[str, str] = {}
    name = ""
    for line in listed.splitlines():
        if line.startswith("Package: "):
            name = line[9:]
        elif line.startswith("Description: ") and name:
            found.setdefault(name, line[13:])
    return list(found.items())[:limit]


def words(text: str) -> list[str]:
    return re.findall(r"[a-z]{3,}", text.lower())


class LatentSemanticAnalysis:
    """TF-IDF over the most frequent words, reduced to `dim` dimensions by the principal directions."""

    def __init__(self, texts: list[str], dim: int, vocabulary: int = 1500) -> None:
        counts = Counter(word for text in texts for word in set(words(text)))
        kept = [word for word, count in counts.most_common(vocabulary) if count < len(texts) / 4]
        self.column = {word: i for i, word in enumerate(kept)}
        self.weight = np.log(len(texts) / np.array([counts[word] for word in kept], np.float32))
        sample = np.random.default_rng(1).permutation(len(texts))[:2000]
        _, _, directions = np.linalg.svd(self._tfidf([texts[i] for i in sample]), full_matrices=False)
        self.directions = directions[:dim].T.astype(np.float32)

    def _tfidf(self, texts: list[str]) -> np.ndarray:
        matrix = np.zeros((len(texts), len(self.column)), np.float32)
        for row, text in enumerate(texts):
            for word in words(text):
                if word in self.column:
                    matrix[row, self.column[word]] = self.weight[self.column[word]]
        return matrix

    def encode(self, texts: list[str]) -> np.ndarray:
        blocks = [self._tfidf(texts[i:i + 2000]) @ self.directions for i in range(0, len(texts), 2000)]
        return np.concatenate(blocks)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("query", nargs="?", default="play music files")
    parser.add_argument("--limit", type=int, default=4000)
    parser.add_argument("--model", help="a sentence-transformers model instead of latent semantic analysis")
    arguments = parser.parse_args()

    known = packages(arguments.limit)
    texts = [f"{name} {description}" for name, description in known]
    if arguments.model:
        from sentence_transformers import SentenceTransformer

        model = SentenceTransformer(arguments.model)
    else:
        model = LatentSemanticAnalysis(texts, dim=min(128, len(texts) // 4))
    vectors = np.asarray(model.encode(texts), np.float32)

    index = vectis.Index(dim=vectors.shape[1], metric="cosine")
    index.add(vectors)
    found = index.search(np.asarray(model.encode([arguments.query]), np.float32), k=5)
    for package, distance in zip(found.ids[0], found.distances[0]):
        print(f"{1 - distance:5.2f}  {known[package][0]}: {known[package][1]}")

    # A description finds itself, or another package with the same words.
    checked = index.search(vectors[:200], k=1)
    assert float((checked.distances[:, 0] < 1e-5).mean()) > 0.9


if __name__ == "__main__":
    main()
