"""The hot kernels and their labels on the page."""

from dataclasses import dataclass

from tools.dialects.kernels import Manifest, Text

FAMILIES = {
    "exact search": ("scan_bounds", "tighten_bounds"),
    "distance tiles": ("l2_squared", "dot_product", "cosine_distance"),
    "products of matrices": ("matmul",),
    "selection": ("top_k", "top_k_segments", "top_k_kept"),
    "reductions": ("reduce_sum", "reduce_squares", "reduce_max", "reduce_min", "reduce_argmax"),
}
COLUMNS = 128  # of the vectors a distance is counted for


@dataclass(frozen=True)
class Hot:
    family: str
    text: Text

    @property
    def operation(self) -> str:
        return self.text.entry.removeprefix("vt_")

    @property
    def label(self) -> str:
        """Its name, the elements it reads, and what else distinguishes it: "scan_bounds i8, 64 x 64"."""
        defines, elements = self.text.defines, self.text.elements
        reads = [] if self.operation.startswith("t") else elements[:1]
        if self.operation == "scan_bounds" and elements[1] != elements[0]:
            reads = [f"{elements[0]} by {elements[1]}"]
        label = " ".join([self.operation, *reads])
        if self.operation == "reduce_argmax" and len(elements) == 4:
            label += " of pairs"
        if "QUERIES" in defines:
            label += f", {defines['ROWS'].rstrip('u')} x {defines['QUERIES'].rstrip('u')}"
            if "lane + left" in self.text.file.read_text():
                label += ", any alignment"
        if self.uses_mma:
            label += ", mma" if "_pairs" in self.text.file.read_text() else ", mma by words"
        if "ROOM" in defines:
            label += f", room {defines['ROOM'].rstrip('u')}"
        return label

    def _define(self, name: str) -> int:
        return int(self.text.defines[name].rstrip("u"))

    @property
    def results(self) -> int:
        """Distances or sums of products that one work-item makes at a time; 0: it makes none."""
        if "ROWS_EACH" in self.text.defines:
            return self._define("ROWS_EACH") * self._define("QUERIES_EACH")
        return 16 if "SIDE" in self.text.defines else 0

    @property
    def words_stored(self) -> float:
        """Words that one work-item of a tile stores to shared memory in a round."""
        sides = ("ROWS", "QUERIES") if "QUERIES" in self.text.defines else ("TILE", "TILE")
        return self.depth * sum(self._define(side) for side in sides) / self.text.group

    @property
    def depth(self) -> int:
        """Words of each vector that are multiplied in a round."""
        return self._define("DEPTH")

    @property
    def packed(self) -> int:
        """Elements that one step multiplies."""
        return self._define("PACKED") if "PACKED" in self.text.defines else 1

    @property
    def uses_dp4a(self) -> bool:
        return self.packed == 4 and not self.uses_mma

    @property
    def uses_mma(self) -> bool:
        """By matrix units."""
        return "CUDA_ARCHITECTURES" in self.text.defines

    @property
    def steps(self) -> float:
        """Multiply-adds, dot products of four bytes or instructions of matrix units that a lane issues for one distance: of
        int8 these multiply 16 rows by 8 rows and 32 columns, and leave four results in each of 32 lanes; AMD's twice as
        many in 64 lanes."""
        return COLUMNS / 32 / 4 if self.uses_mma else COLUMNS / self.packed


def hot_kernels(manifest: Manifest, dialect: str) -> list[Hot]:
    """By family, then as they were printed."""
    built_in = [text for text in manifest.of(dialect) if text.kind == "built-in"]
    found = [Hot(family, text) for family, names in FAMILIES.items() for name in names
             for text in built_in if text.entry == f"vt_{name}"]
    missing = {name for names in FAMILIES.values() for name in names} - {one.operation for one in found}
    if missing:
        raise ValueError(f"no kernel named {sorted(missing)} was printed")
    labels = [one.label for one in found]
    twice = {label for label in labels if labels.count(label) > 1}
    if twice:
        raise ValueError(f"several kernels are called {sorted(twice)}")
    return found
