"""Every operation of arrays with the one of PyTorch that computes the same: for measurements and for comparisons.

A case is an operation with shapes and an element type, drawn from a random generator; both libraries make the same
arrays of it."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

FLOATS = ("float32", "float64", "bfloat16", "float16")
INTEGERS = ("int32", "int64", "int8", "uint8")
NUMBERS = FLOATS + INTEGERS
ALL = (*NUMBERS, "bool")
WIDE = ("float32", "float64")
Shape = tuple[int, ...]
Extents = Callable[[random.Random, int], list[Shape]]


@dataclass(frozen=True)
class Operation:
    """`ours` takes vectis.array and arrays, `theirs` torch and tensors."""

    name: str
    ours: Callable[..., Any]
    theirs: Callable[..., Any]
    extents: Extents
    types: Sequence[str] = FLOATS
    low: float = -2
    high: float = 2
    has_gradient: bool = True
    indices: int = 0  # how many of the last arrays are indices below 4, of int64
    reference: Callable[..., Any] | None = None  # of NumPy, where PyTorch is wrong in float64
    own_edges: str = ""  # why edge values differ from PyTorch's on purpose: they are not compared
    units: float = 8  # of the type's rounding: how far a value may be from the one in float64
    has_edges: bool = True  # NaN, infinities and -0 are compared too


def extents_of(rng: random.Random, size: int, rank: int) -> Shape:
    """A shape of about `size` elements."""
    rest, shape = size, []
    for axis in range(rank - 1, 0, -1):
        extent = max(1, round(rest ** rng.uniform(0.1, 1.5 / (axis + 1))))
        shape.append(extent)
        rest = max(1, rest // extent)
    shape.append(rest)
    rng.shuffle(shape)
    return tuple(shape)


def one(rng: random.Random, size: int) -> list[Shape]:
    return [extents_of(rng, size, rng.randint(1, 4))]


def two(rng: random.Random, size: int) -> list[Shape]:
    """Two shapes, of which the second is broadcast to the first half of the time."""
    (shape,) = one(rng, size)
    other = tuple(extent if rng.random() < 0.7 else 1 for extent in shape) if rng.random() < 0.5 else shape
    return [shape, other[rng.randint(0, 1):] if other != shape else other]


def same(count: int) -> Extents:
    return lambda rng, size: one(rng, size) * count


def ranked(rank: int) -> Extents:
    return lambda rng, size: [extents_of(rng, size, rank)]


def at_least_four(rng: random.Random, size: int) -> list[Shape]:
    """The last axis, which is indexed, has four elements at least."""
    shape = extents_of(rng, max(1, size // 4), 2)
    return [(*shape[:-1], max(4, shape[-1]))]


def product(rng: random.Random, size: int) -> list[Shape]:
    """Two matrices, half of the time in a batch."""
    batch = rng.randint(1, max(1, min(16, round(size ** 0.3)))) if rng.random() < 0.5 else 0
    edge = max(1, round((size / max(batch, 1)) ** 0.5))
    m, k, n = (max(1, round(edge * 2 ** rng.uniform(-1, 1))) for _ in range(3))
    return [(batch, m, k), (batch, k, n)] if batch else [(m, k), (k, n)]


def windows(axes: int, has_weights: bool) -> Extents:
    """An array of (batch, channels, extents), and weights of a window of 3."""
    def make(rng: random.Random, size: int) -> list[Shape]:
        channels = rng.choice((4, 8, 16, 32)) if size > 20_000 else 4
        batch = rng.randint(1, 4)
        edge = max(4, round((size / channels / batch) ** (1 / axes)))
        shapes = [(batch, channels, *[edge] * axes)]
        return [*shapes, (rng.choice((4, 16, 32)), channels, *[3] * axes)] if has_weights else shapes
    return make


def with_indices(rng: random.Random, size: int) -> list[Shape]:
    (shape,) = at_least_four(rng, size)
    return [shape, (shape[-1],)]


def along(rng: random.Random, size: int) -> list[Shape]:
    return at_least_four(rng, size) * 2


def put(rng: random.Random, size: int) -> list[Shape]:
    """An array, values and indices of the same extents."""
    return at_least_four(rng, size) * 3


def added(rng: random.Random, size: int) -> list[Shape]:
    (shape,) = at_least_four(rng, size)
    return [shape, shape, (shape[-1],)]


def transposed_product(x: Any) -> str:
    return "aij,ajk->aki" if x.ndim == 3 else "ij,jk->ki"


def unary(name: str, low: float = -2, high: float = 2, theirs: str = "", **options: Any) -> Operation:
    return Operation(name, lambda xp, x: getattr(xp, name)(x), lambda t, x: getattr(t, theirs or name)(x), one, low=low,
                     high=high, **options)


def binary(name: str, theirs: str = "", **options: Any) -> Operation:
    return Operation(name, lambda xp, a, b: getattr(xp, name)(a, b), lambda t, a, b: getattr(t, theirs or name)(a, b), two,
                     **{"units": 16, **options})


def activation(name: str, **options: Any) -> Operation:
    return Operation(name, lambda xp, x: getattr(xp, name)(x), lambda t, x: getattr(t.nn.functional, name)(x), one, **options)


def reduction(name: str, theirs: Callable[..., Any] | None = None, **options: Any) -> Operation:
    """Over the last axis, or over all when the array has one axis."""
    call = theirs or (lambda t, x, axis: getattr(t, name)(x, axis))
    return Operation(name, lambda xp, x: getattr(xp, name)(x, axis=-1), lambda t, x: call(t, x, -1), ranked(2), **options)


def first_axis(name: str, theirs: Callable[..., Any] | None = None, **options: Any) -> Operation:
    call = theirs or (lambda t, x, axis: getattr(t, name)(x, axis))
    return Operation(f"{name} of the first axis", lambda xp, x: getattr(xp, name)(x, axis=0), lambda t, x: call(t, x, 0),
                     ranked(2), **options)


def norm(t: Any, x: Any, axis: int) -> Any:
    return t.linalg.vector_norm(x, dim=axis)


def table() -> list[Operation]:
    plain: dict[str, Any] = {"has_gradient": False}
    f = lambda t: t.nn.functional
    reductions = [
        reduction("sum", types=NUMBERS, units=16), reduction("mean", units=16), reduction("prod", types=WIDE, low=0.8, high=1.2, units=64),
        reduction("var", lambda t, x, axis: t.var(x, axis, correction=0), units=32, has_edges=False),
        reduction("std", lambda t, x, axis: t.std(x, axis, correction=0), units=32, has_edges=False),
        reduction("max", lambda t, x, axis: t.amax(x, axis), types=NUMBERS),
        reduction("min", lambda t, x, axis: t.amin(x, axis), types=NUMBERS), reduction("norm", norm, units=16),
        reduction("logsumexp", units=16), reduction("argmax", types=("float32", "float64", "int32", "int64"), **plain),
        reduction("argmin", types=("float32", "float64", "int32", "int64"), **plain),
        reduction("all", types=ALL, **plain), reduction("any", types=ALL, **plain),
        reduction("count_nonzero", types=ALL, **plain),
        reduction("softmax", units=16), reduction("log_softmax", units=16),
        reduction("cumulative_sum", lambda t, x, axis: t.cumsum(x, axis), units=32, types=NUMBERS),
        reduction("cumulative_prod", lambda t, x, axis: t.cumprod(x, axis), types=WIDE, low=0.8, high=1.2, units=64, has_edges=False),
        reduction("sort", lambda t, x, axis: t.sort(x, dim=axis, stable=True).values, types=NUMBERS),
        reduction("argsort", lambda t, x, axis: t.argsort(x, dim=axis, stable=True), types=NUMBERS, **plain),
    ]
    return [
        *(unary(name) for name in ("exp", "expm1", "sin", "cos", "sinh", "cosh", "atan", "asinh", "erf", "exp2")),
        unary("tan", -1, 1, units=16), unary("tanh", units=32), unary("sigmoid", units=16), unary("square", types=NUMBERS),
        unary("abs", 0.1, types=NUMBERS), unary("negative", types=FLOATS + ("int32", "int64", "int8")),
        *(unary(name, 0.5) for name in ("sqrt", "rsqrt", "log", "log2", "log10", "reciprocal")), unary("log1p", -0.5),
        *(unary(name, -0.9, 0.9, units=16) for name in ("asin", "acos", "atanh")), unary("acosh", 1.2, 3, units=16),
        *(unary(name, **plain) for name in ("floor", "ceil", "round", "trunc", "isnan", "isinf", "isfinite", "signbit")),
        unary("sign", types=NUMBERS, own_edges="sign(NaN) is NaN, as in the standard", **plain), unary("logical_not", types=ALL, **plain),
        unary("bitwise_invert", theirs="bitwise_not", types=(*INTEGERS, "bool"), **plain),
        activation("relu"), activation("leaky_relu"), activation("elu"), activation("gelu", units=16), activation("silu"), activation("softplus", units=16),
        *(binary(name, types=NUMBERS) for name in ("add", "subtract", "multiply", "minimum", "maximum")),
        binary("divide"), binary("pow", low=0.5), binary("atan2", low=0.5), binary("hypot", low=0.5), binary("logaddexp"),
        binary("copysign", low=0.5), binary("fmod", low=0.5, reference=lambda np, a, b: np.fmod(a, b), **plain),
        binary("remainder", low=0.5, reference=lambda np, a, b: np.remainder(a, b), **plain),
        binary("floor_divide", low=1, high=9, types=("float32", "float64", "int32", "int64"), has_gradient=False, has_edges=False),
        binary("nextafter", types=WIDE, **plain),
        binary("equal", "eq", types=ALL, **plain), *(binary(name, types=NUMBERS, **plain) for name in ("less", "greater_equal")),
        *(binary(f"bitwise_{name}", types=(*INTEGERS, "bool"), **plain) for name in ("and", "or", "xor")),
        binary("bitwise_left_shift", types=("int32", "int64"), low=0, high=9, **plain),
        binary("bitwise_right_shift", types=("int32", "int64"), low=0, high=9, **plain),
        *(binary(f"logical_{name}", types=ALL, **plain) for name in ("and", "or", "xor")),
        Operation("where", lambda xp, a, b: xp.where(xp.greater(a, 0), a, b), lambda t, a, b: t.where(t.gt(a, 0), a, b), same(2), NUMBERS),
        # Not at the limits, where the gradient is shared.
        Operation("clip", lambda xp, x: xp.clip(x, -1.003, 1.003), lambda t, x: t.clamp(x, -1.003, 1.003), one, WIDE),
        *reductions,
        first_axis("sum", types=NUMBERS, units=16), first_axis("max", lambda t, x, axis: t.amax(x, axis)), first_axis("softmax", units=16),
        Operation("sum of all", lambda xp, x: xp.sum(x), lambda t, x: t.sum(x), one, units=16),
        Operation("top_k", lambda xp, x: xp.top_k(x, 4)[0], lambda t, x: t.topk(x, 4).values, at_least_four, WIDE,
                  own_edges="NaN comes last, as in sort"),
        Operation("diff", lambda xp, x: xp.diff(x, axis=-1), lambda t, x: t.diff(x), ranked(2)),
        Operation("unique", lambda xp, x: xp.unique_values(x), lambda t, x: t.unique(x), one, ("float32", "int32", "int64"), -9, 9,
                  has_gradient=False, has_edges=False),
        Operation("isin", lambda xp, a, b: xp.isin(a, b), lambda t, a, b: t.isin(a, b), same(2), ("float32", "int32"), -9, 9,
                  has_gradient=False, has_edges=False),
        Operation("searchsorted", lambda xp, a, b: xp.searchsorted(xp.sort(xp.flatten(a)), b),
                  lambda t, a, b: t.searchsorted(t.sort(a.flatten()).values, b), same(2), WIDE, has_gradient=False, has_edges=False),
        Operation("nonzero", lambda xp, x: xp.nonzero(x), lambda t, x: t.nonzero(x, as_tuple=True), ranked(2), ("float32", "int32", "bool"), -1,
                  has_gradient=False),
        Operation("transpose", lambda xp, x: xp.permute_dims(x, (1, 0)) + 0.0, lambda t, x: x.permute(1, 0) + 0.0, ranked(2)),
        Operation("flip", lambda xp, x: xp.flip(x) + 0.0, lambda t, x: t.flip(x, list(range(x.ndim))), one),
        Operation("roll", lambda xp, x: xp.roll(x, 2, axis=-1), lambda t, x: t.roll(x, 2, -1), ranked(2), NUMBERS),
        Operation("repeat", lambda xp, x: xp.repeat(x, 3, axis=-1), lambda t, x: t.repeat_interleave(x, 3, -1), ranked(2), NUMBERS),
        Operation("tile", lambda xp, x: xp.tile(x, (2, 2)), lambda t, x: t.tile(x, (2, 2)), ranked(2), NUMBERS),
        Operation("concat", lambda xp, *x: xp.concat(x, axis=-1), lambda t, *x: t.concat(x, -1), same(2), NUMBERS),
        Operation("stack", lambda xp, *x: xp.stack(x, axis=0), lambda t, *x: t.stack(x, 0), same(3), NUMBERS),
        Operation("pad", lambda xp, x: xp.pad(x, [(1, 1), (2, 3)], 1), lambda t, x: f(t).pad(x, (2, 3, 1, 1), value=1), ranked(2)),
        Operation("tril", lambda xp, x: xp.tril(x), lambda t, x: t.tril(x), ranked(2), NUMBERS),
        Operation("triu", lambda xp, x: xp.triu(x, k=1), lambda t, x: t.triu(x, 1), ranked(2), NUMBERS),
        Operation("slice", lambda xp, x: x[:, ::2] * 2, lambda t, x: x[:, ::2] * 2, ranked(2)),
        Operation("matmul", lambda xp, a, b: xp.matmul(a, b), lambda t, a, b: t.matmul(a, b), product, units=32, has_edges=False),
        Operation("einsum", lambda xp, a, b: xp.einsum(transposed_product(a), a, b),
                  lambda t, a, b: t.einsum(transposed_product(a), a, b), product, WIDE, units=32, has_edges=False),
        Operation("outer", lambda xp, a, b: xp.outer(a, b), lambda t, a, b: t.outer(a, b),
                  lambda rng, size: [(max(1, round(size ** 0.5)),)] * 2, units=32),
        Operation("vecdot", lambda xp, a, b: xp.vecdot(a, b), lambda t, a, b: t.linalg.vecdot(a, b), same(2), WIDE, units=32, has_edges=False),
        Operation("tensordot", lambda xp, a, b: xp.tensordot(a, b, axes=1), lambda t, a, b: t.tensordot(a, b, 1),
                  lambda rng, size: [shape[-2:] for shape in product(rng, size)], WIDE, units=32, has_edges=False),
        Operation("take", lambda xp, x, i: xp.take(x, i, axis=-1), lambda t, x, i: t.index_select(x, -1, i), with_indices, indices=1),
        Operation("take_along_axis", lambda xp, x, i: xp.take_along_axis(x, i, axis=-1), lambda t, x, i: t.gather(x, -1, i), along, indices=1),
        Operation("add_along_axis", lambda xp, x, v, i: xp.add_along_axis(x, i, v, axis=-1),
                  lambda t, x, v, i: t.scatter_add(x, -1, i, v), put, WIDE, indices=1, units=32),
        Operation("index_add", lambda xp, x, v, i: xp.index_add(x, i, v, axis=1), lambda t, x, v, i: t.index_add(x, 1, i, v), added, WIDE,
                  indices=1, units=32, own_edges="sums of several infinities depend on the order"),
        *(Operation(f"conv{axes}d", lambda xp, x, w: xp.conv(x, w, padding=1),
                    lambda t, x, w, axes=axes: getattr(f(t), f"conv{axes}d")(x, w, padding=1), windows(axes, has_weights=True),
                    ("float32", "bfloat16") if axes == 2 else ("float32",), units=64, has_edges=False) for axes in (1, 2, 3)),
        Operation("max_pool", lambda xp, x: xp.max_pool(x, 2), lambda t, x: f(t).max_pool2d(x, 2), windows(2, has_weights=False), WIDE, has_edges=False),
        Operation("mean_pool", lambda xp, x: xp.mean_pool(x, 2), lambda t, x: f(t).avg_pool2d(x, 2), windows(2, has_weights=False), WIDE, has_edges=False),
        Operation("interpolate", lambda xp, x: xp.interpolate(x, [2 * x.shape[2], 2 * x.shape[3]]),
                  lambda t, x: f(t).interpolate(x, [2 * x.shape[2], 2 * x.shape[3]], mode="bilinear"), windows(2, has_weights=False), WIDE,
                  has_edges=False),
        Operation("layer_norm", lambda xp, x: xp.layer_norm(x), lambda t, x: f(t).layer_norm(x, x.shape[-1:]), at_least_four, WIDE, units=64, has_edges=False),
        Operation("astype", lambda xp, x: xp.astype(x, xp.float32), lambda t, x: x.to(t.float32), one,
                  ("float64", "bfloat16", "float16", "int32", "int64", "int8", "uint8", "bool")),
    ]


OPERATIONS = table()


def is_real(dtype: str) -> bool:
    return dtype in FLOATS
