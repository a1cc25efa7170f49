"""The table of functions in docs/python-arrays.md; `python3 test_array_table.py` writes it."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import vectis
import vectis.array as xp

PAGE = Path(__file__).resolve().parents[3] / "docs" / "python-arrays.md"
BEGIN, END = "<!-- table of functions: begin -->\n", "<!-- table of functions: end -->\n"

# The names of the standard, version 2024.12, by its chapters.
STANDARD = {
    "constants": "e inf nan newaxis pi",
    "new arrays": "arange asarray empty empty_like eye from_dlpack full full_like linspace meshgrid ones ones_like tril triu "
                  "zeros zeros_like",
    "element types": "astype can_cast finfo iinfo isdtype result_type",
    "element by element": "abs acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_invert bitwise_left_shift "
                          "bitwise_or bitwise_right_shift bitwise_xor ceil clip conj copysign cos cosh divide equal exp expm1 "
                          "floor floor_divide greater greater_equal hypot imag isfinite isinf isnan less less_equal log log10 "
                          "log1p log2 logaddexp logical_and logical_not logical_or logical_xor maximum minimum multiply "
                          "negative nextafter not_equal positive pow real reciprocal remainder round sign signbit sin sinh "
                          "sqrt square subtract tan tanh trunc",
    "shapes": "broadcast_arrays broadcast_to concat expand_dims flip moveaxis permute_dims repeat reshape roll squeeze stack "
              "tile unstack",
    "reductions": "all any cumulative_prod cumulative_sum diff max mean min prod std sum var",
    "searches and orders": "argmax argmin argsort count_nonzero nonzero searchsorted sort where",
    "indices": "take take_along_axis",
    "sets": "unique_all unique_counts unique_inverse unique_values",
    "products": "matmul matrix_transpose tensordot vecdot",
    "networks": "",
    "gradients": "",
    "random numbers": "",
    "evaluation": "",
}
# What vectis.array has besides.
BEYOND = {
    "element by element": "erf exp2 fmod rsqrt",
    "shapes": "broadcast_shapes flatten pad split swapaxes",
    "reductions": "logsumexp norm",
    "searches and orders": "isin top_k",
    "indices": "add_along_axis index_add put_along_axis",
    "sets": "unique",
    "products": "einsum outer",
    "networks": "conv conv1d conv2d conv3d elu gelu interpolate layer_norm leaky_relu log_softmax max_pool mean_pool relu sigmoid silu "
                "softmax softplus",
    "gradients": "check_gradient checkpoint custom_function grad no_grad stop_gradient value_and_grad vjp",
    "random numbers": "Generator",
    "evaluation": "eval",
}
# Helpers of vectis/array.py and types that functions return.
HIDDEN = set("Array DType GradientCheck GradientFunction UniqueAll UniqueCounts UniqueInverse call_checkpoint call_custom "
             "common_type contract diff_of finfo_object iinfo_object range_of roll_axis".split())
HIDDEN |= {name for name in vars(xp) if name.startswith("linalg_")}
TYPES = set("bool int8 uint8 int32 int64 float16 bfloat16 float32 float64".split())


def table() -> str:
    lines = ["| chapter | of the standard | beyond it |", "|---|---|---|"]
    for chapter, names in STANDARD.items():
        cells = [" ".join(f"`{name}`" for name in text.split()) for text in (names, BEYOND.get(chapter, ""))]
        lines.append(f"| {chapter} | {cells[0]} | {cells[1]} |")
    return "".join(line + "\n" for line in lines)


def public_names() -> set[str]:
    own = {name for name, value in vars(xp).items() if not name.startswith("_") and not inspect.ismodule(value)}
    imported = {"annotations", "Callable", "Sequence", "Any", "Literal", "NamedTuple", "TYPE_CHECKING"}
    return own - imported


def test_every_function_is_in_the_table() -> None:
    listed = set(" ".join([*STANDARD.values(), *BEYOND.values()]).split())
    assert public_names() - HIDDEN - TYPES == listed
    assert {"grad", "value_and_grad"} <= set(vectis.__all__)


def test_the_page_has_the_table() -> None:
    text = PAGE.read_text()
    assert text[text.index(BEGIN) + len(BEGIN):text.index(END)] == table(), "run python3 bindings/python/tests/test_array_table.py"


def test_operations_of_the_core_are_in_the_namespace() -> None:
    header = (PAGE.parents[1] / "include" / "vectis" / "array" / "operations.hpp").read_text()
    ours = {"absolute": "abs", "power": "pow", "bitwise_not": "bitwise_invert", "left_shift": "bitwise_left_shift",
            "right_shift": "bitwise_right_shift", "stddev": "std", "slice": "asarray", "select": "asarray"}
    names = set(re.findall(r"^VECTIS_API [\w:<>, ]+ (\w+)\(", header, re.MULTILINE))
    assert len(names) > 120
    assert {ours.get(name, name) for name in names} <= public_names() | {"operator"}


if __name__ == "__main__":
    page = PAGE.read_text()
    PAGE.write_text(page[:page.index(BEGIN) + len(BEGIN)] + table() + page[page.index(END):])
