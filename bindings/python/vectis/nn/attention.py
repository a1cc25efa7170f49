"""Attention and the blocks of the transformer."""

from __future__ import annotations

from .._array import Array, Generator
from .._nn import KeyValueCache
from .native import NativeModule

# Masks of bool are true where there is no attention, as in PyTorch's MultiheadAttention; others are added to the scores.


class MultiHeadAttention(NativeModule):
    """Attention in several heads. Arrays are (batch, sequence, features)."""

    in_proj_weight: Array  #: (3 features, features): of query, key and value
    in_proj_bias: Array | None

    def __init__(self, features: int, heads: int, *, dropout: float = 0, bias: bool = True,
                 random: Generator | None = None) -> None:
        self._make(features, heads, dropout, bias, generator=random)

    def __call__(self, query: Array, key: Array | None = None, value: Array | None = None, *, mask: Array | None = None,
                 key_padding: Array | None = None, is_causal: bool = False,
                 cache: KeyValueCache | None = None) -> Array:
        """Return the attention of `query` to `key` and `value`, by default to itself."""
        key = query if key is None else key
        result: Array = self._native.attend(query, key, key if value is None else value, mask, key_padding, is_causal,
                                            cache, self._random())
        return result


class TransformerEncoderLayer(NativeModule):
    """Attention of a sequence to itself, then two dense layers, each added to its input."""

    def __init__(self, features: int, heads: int, *, feed_forward: int = 2048, dropout: float = 0.1,
                 activation: str = "relu", norm_first: bool = False, epsilon: float = 1e-5,
                 random: Generator | None = None) -> None:
        self._make(features, heads, feed_forward, dropout, activation, norm_first, epsilon, generator=random)

    def __call__(self, x: Array, *, mask: Array | None = None, key_padding: Array | None = None,
                 is_causal: bool = False, cache: KeyValueCache | None = None) -> Array:
        """Apply the layer to (batch, sequence, features)."""
        result: Array = self._native.encode(x, mask, key_padding, is_causal, cache, self._random())
        return result


class TransformerEncoder(NativeModule):
    """Encoder layers, named "layers.0" and so on; with `norm_first` a normalization follows the last."""

    def __init__(self, layers: int, features: int, heads: int, *, feed_forward: int = 2048, dropout: float = 0.1,
                 activation: str = "relu", norm_first: bool = False, epsilon: float = 1e-5,
                 random: Generator | None = None) -> None:
        self._make(layers, features, heads, feed_forward, dropout, activation, norm_first, epsilon, generator=random)

    def __call__(self, x: Array, *, mask: Array | None = None, key_padding: Array | None = None,
                 is_causal: bool = False, cache: KeyValueCache | None = None) -> Array:
        """Apply the layers to (batch, sequence, features)."""
        result: Array = self._native.encode(x, mask, key_padding, is_causal, cache, self._random())
        return result


class _Decoding(NativeModule):
    def __call__(self, x: Array, memory: Array, *, mask: Array | None = None,  # type: ignore[override]
                 key_padding: Array | None = None, is_causal: bool = False, memory_mask: Array | None = None,
                 memory_key_padding: Array | None = None, cache: KeyValueCache | None = None) -> Array:
        """Apply the decoder to a sequence and an encoder's output; the cache is of the sequence."""
        result: Array = self._native.decode(x, memory, mask, key_padding, is_causal, memory_mask, memory_key_padding,
                                            cache, self._random())
        return result


class TransformerDecoderLayer(_Decoding):
    """Attention of a sequence to itself and to the output of an encoder, then two dense layers."""

    def __init__(self, features: int, heads: int, *, feed_forward: int = 2048, dropout: float = 0.1,
                 activation: str = "relu", norm_first: bool = False, epsilon: float = 1e-5,
                 random: Generator | None = None) -> None:
        self._make(features, heads, feed_forward, dropout, activation, norm_first, epsilon, generator=random)


class TransformerDecoder(_Decoding):
    """Decoder layers, named "layers.0" and so on; with `norm_first` a normalization follows the last."""

    def __init__(self, layers: int, features: int, heads: int, *, feed_forward: int = 2048, dropout: float = 0.1,
                 activation: str = "relu", norm_first: bool = False, epsilon: float = 1e-5,
                 random: Generator | None = None) -> None:
        self._make(layers, features, heads, feed_forward, dropout, activation, norm_first, epsilon, generator=random)
