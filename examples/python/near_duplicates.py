"""Near-duplicate images: simple features (downsampled brightness and gradients), then the nearest neighbors.

The images are drawn by this program, so that it needs nothing but NumPy. Replace `draw` by a loader of your own files.
"""

import numpy as np

import vectis

rng = np.random.default_rng(7)


def draw(seed: int) -> np.ndarray:
    """An image of 64 x 64: some smooth blobs."""
    local = np.random.default_rng(seed)
    y, x = np.mgrid[0:64, 0:64] / 64
    image = np.zeros((64, 64))
    for _ in range(8):
        cy, cx, width, height = local.random(4)
        image += (height - 0.5) * np.exp(-((y - cy) ** 2 + (x - cx) ** 2) / (0.01 + 0.1 * width))
    return image


def features(image: np.ndarray) -> np.ndarray:
    """Mean brightness and gradients of 8 x 8 cells, independent of exposure."""
    image = (image - image.mean()) / (image.std() + 1e-6)
    gradient_y, gradient_x = np.gradient(image)
    cells = [channel.reshape(8, 8, 8, 8).mean(axis=(1, 3)) for channel in (image, gradient_y, gradient_x)]
    return np.concatenate([cell.ravel() for cell in cells]).astype(np.float32)


originals = [draw(seed) for seed in range(2000)]
index = vectis.Index(dim=192, metric="cosine")
index.add(np.stack([features(image) for image in originals]))

# Copies with another exposure, noise, and a shift by a pixel.
chosen = rng.integers(0, 2000, 200)
copies = [1.7 * np.roll(originals[i], 1, axis=1) + 0.3 + 0.02 * rng.standard_normal((64, 64)) for i in chosen]
found = index.search(np.stack([features(image) for image in copies]), k=1, radius=0.2)
share = float((found.ids[:, 0] == chosen).mean())
print(f"found the original of {share:.0%} of {len(copies)} altered copies")
assert share > 0.95
