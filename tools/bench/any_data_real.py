"""The real sets of `./dev bench any-data`: pictures and descriptions of Debian's packages, and scikit-learn's digits.

Runs in build/ann-venv. The model of the set `minilm` needs an environment of its own; see embeddings.py, which makes the
vectors that are cut to size here."""

import re
import subprocess
import tempfile
from collections import Counter
from pathlib import Path

import numpy

from tools.bench.any_data_sets import QUERIES, SEED, AnySet
from tools.bench.embeddings import descriptions

PICTURE_PACKAGES = ("mate-backgrounds", "ukui-wallpapers", "plasma-workspace-wallpapers", "gnome-backgrounds")
MORE_PACKAGES = (*PICTURE_PACKAGES, "lomiri-wallpapers-16.04", "lomiri-wallpapers-20.04", "sway-backgrounds",
                 "opencv-doc")
PICTURE_SIDE, LARGE_SIDE = 1600, 3200  # larger pictures are scaled down to this
PATCH = 8  # pixels, square, three colors
WORDS = 21_000  # of the set `words`: the most frequent ones
WINDOW = 4  # words on each side that count as context


def pictures(packages: tuple[str, ...] = PICTURE_PACKAGES, side: int = PICTURE_SIDE):
    """The pictures of the packages as arrays of BGR, scaled down."""
    import cv2
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["apt-get", "download", *packages], cwd=folder, check=True, capture_output=True)
        for package in sorted(Path(folder).glob("*.deb")):
            subprocess.run(["dpkg-deb", "-x", package.name, "files"], cwd=folder, check=True)
        for file in sorted(Path(folder, "files").rglob("*")):
            picture = cv2.imread(str(file)) if file.suffix in (".jpg", ".jpeg", ".png", ".webp") else None
            if picture is not None and min(picture.shape[:2]) >= 200:
                scale = min(1.0, side / max(picture.shape[:2]))
                yield cv2.resize(picture, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)


def sift() -> numpy.ndarray:
    import cv2
    extractor = cv2.SIFT_create(nfeatures=6000)
    found = [extractor.detectAndCompute(cv2.cvtColor(picture, cv2.COLOR_BGR2GRAY), None)[1] for picture in pictures()]
    return numpy.concatenate([one for one in found if one is not None])


def more_sift() -> numpy.ndarray:
    """Every keypoint of more and larger pictures."""
    import cv2
    extractor = cv2.SIFT_create()
    found = [extractor.detectAndCompute(cv2.cvtColor(picture, cv2.COLOR_BGR2GRAY), None)[1]
             for picture in pictures(MORE_PACKAGES, LARGE_SIDE)]
    return numpy.concatenate([one for one in found if one is not None])


def patches() -> numpy.ndarray:
    random = numpy.random.default_rng(SEED)
    found = []
    for picture in pictures():
        rows = random.integers(0, picture.shape[0] - PATCH, 2000)
        columns = random.integers(0, picture.shape[1] - PATCH, 2000)
        found += [picture[row:row + PATCH, column:column + PATCH].reshape(-1)
                  for row, column in zip(rows, columns, strict=True)]
    return numpy.array(found, numpy.float32)


def tfidf() -> numpy.ndarray:
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer
    counts = TfidfVectorizer(min_df=3, sublinear_tf=True).fit_transform(descriptions())
    return TruncatedSVD(200, random_state=SEED).fit_transform(counts)


def word_counts() -> numpy.ndarray:
    from sklearn.feature_extraction.text import HashingVectorizer
    hashed = HashingVectorizer(n_features=512, alternate_sign=False, norm=None).transform(descriptions())
    return numpy.sqrt(hashed.toarray())


def words() -> numpy.ndarray:
    """Vectors of words: the positive pointwise mutual information of words and their contexts, by SVD."""
    from scipy.sparse import coo_matrix
    from sklearn.decomposition import TruncatedSVD
    texts = [re.findall(r"[a-z]{2,}", text.lower()) for text in descriptions()]
    number = {word: i for i, (word, _) in enumerate(Counter(word for text in texts for word in text).most_common(WORDS))}
    rows, columns = [], []
    for text in texts:
        known = [number[word] for word in text if word in number]
        for distance in range(1, WINDOW + 1):
            rows += known[:-distance] + known[distance:]
            columns += known[distance:] + known[:-distance]
    counts = coo_matrix((numpy.ones(len(rows)), (rows, columns)), (len(number), len(number))).tocsr().tocoo()
    row_sums, column_sums = (numpy.asarray(counts.sum(axis=axis)).ravel() for axis in (1, 0))
    information = numpy.log(counts.data * counts.data.sum() / (row_sums[counts.row] * column_sums[counts.col]))
    positive = coo_matrix((numpy.maximum(information, 0), (counts.row, counts.col)), counts.shape).tocsr()
    return TruncatedSVD(100, random_state=SEED).fit_transform(positive)


def digits() -> numpy.ndarray:
    """The 1,797 digits at 28 x 28 pixels, each many times: moved, turned, scaled and with noise."""
    from scipy.ndimage import affine_transform, zoom
    from sklearn.datasets import load_digits
    random = numpy.random.default_rng(SEED)
    large = [zoom(image, 3.5, order=1) for image in load_digits().images]
    found = []
    for i in range(51_000):
        angle, scale = random.normal(0, 0.15), random.normal(1, 0.08)
        turn = scale * numpy.array([[numpy.cos(angle), -numpy.sin(angle)], [numpy.sin(angle), numpy.cos(angle)]])
        shift = numpy.array([14, 14]) - turn @ numpy.array([14, 14]) + random.normal(0, 1, 2)
        image = affine_transform(large[i % len(large)], turn, shift, order=1)
        found.append((image + random.normal(0, 0.3, image.shape)).reshape(-1))
    return numpy.array(found, numpy.float32)


MAKERS = {"sift": sift, "sift-1m": more_sift, "patches": patches, "tfidf": tfidf, "word-counts": word_counts, "words": words, "digits": digits}


def generate(one: AnySet, folder: Path) -> tuple[numpy.ndarray, numpy.ndarray]:
    """The corpus and the queries of a real set: distinct rows in random order, so that no query is in the corpus."""
    if one.name == "minilm":
        files = [*folder.glob("corpus-embeddings-*.f32"), *folder.glob("queries-embeddings-*.f32")]
        vectors = numpy.concatenate([numpy.fromfile(file, numpy.float32).reshape(-1, one.dim) for file in files])
    else:
        vectors = MAKERS[one.name]()
    vectors = numpy.unique(vectors.astype(numpy.float32), axis=0)
    vectors = vectors[numpy.linalg.norm(vectors, axis=1) > 0]
    if len(vectors) < one.rows + QUERIES:
        raise SystemExit(f"bench: {one.name} has {len(vectors)} rows, {one.rows + QUERIES} are needed")
    vectors = vectors[one.random("rows").permutation(len(vectors))[:one.rows + QUERIES]]
    return numpy.ascontiguousarray(vectors[QUERIES:]), numpy.ascontiguousarray(vectors[:QUERIES])
