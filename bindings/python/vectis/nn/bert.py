"""BERT, with the names of Hugging Face's BertModel."""

from __future__ import annotations

import os

from .. import _nn, _vectis
from .._array import Array, Generator
from .._types import ArrayDType
from .native import NativeModule


class Bert(NativeModule):
    """Embeddings of tokens, positions and types, and layers of attention above them, without a pooler.

    Sizes have the names of config.json in Hugging Face's models. The arrays have the names of their BertModel.
    """

    def __init__(self, *, vocab_size: int = 30_522, hidden_size: int = 768, num_hidden_layers: int = 12,
                 num_attention_heads: int = 12, intermediate_size: int = 3072, max_position_embeddings: int = 512,
                 type_vocab_size: int = 2, hidden_act: str = "gelu", layer_norm_eps: float = 1e-12,
                 hidden_dropout_prob: float = 0.1, attention_probs_dropout_prob: float = 0.1,
                 random: Generator | None = None) -> None:
        self._make(vocab_size, hidden_size, num_hidden_layers, num_attention_heads, intermediate_size,
                   max_position_embeddings, type_vocab_size, hidden_act, layer_norm_eps, hidden_dropout_prob,
                   attention_probs_dropout_prob, generator=random)

    @staticmethod
    def load(folder: str | os.PathLike[str], *, device: _vectis.Device | int | str | None = None,
             dtype: ArrayDType | None = None) -> Bert:
        """Read config.json and model.safetensors in a folder; the model computes for inference, by default on the CPU."""
        native = _nn.load_bert(folder, device, dtype)
        model = Bert.__new__(Bert)
        super(NativeModule, model).__init__()
        model._made, model._draws = native.options, True
        model._hold(native)
        return model.eval()

    def __call__(self, ids: Array, *, padding: Array | None = None, token_types: Array | None = None) -> Array:
        """Return (batch, sequence, hidden_size) of numbers of tokens (batch, sequence).

        `padding` is true where a position is none of the text; `token_types` are 0 by default.
        """
        result: Array = self._native.encode(ids, padding, token_types, self._random())
        return result
