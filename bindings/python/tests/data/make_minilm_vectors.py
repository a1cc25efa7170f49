"""Makes minilm_vectors.npy: what Hugging Face's transformers computes in float64 for the texts of minilm_texts.json.

usage: make_minilm_vectors.py MODEL_FOLDER, with torch and transformers installed (made with 1.13.1 and 4.38.2).
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import torch
from transformers import AutoModel, AutoTokenizer

HERE = Path(__file__).resolve().parent
MAX_LENGTH = 256  # of the model's sentence_bert_config.json


def main(folder: str) -> None:
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).double().eval()
    vectors = []
    for text in json.loads((HERE / "minilm_texts.json").read_text(encoding="utf-8")):
        tokens = tokenizer(text, truncation=True, max_length=MAX_LENGTH, return_tensors="pt")
        with torch.no_grad():
            mean = model(**tokens).last_hidden_state[0].mean(dim=0)
        vectors.append((mean / mean.norm()).numpy())
    np.save(HERE / "minilm_vectors.npy", np.asarray(vectors, dtype=np.float32))


if __name__ == "__main__":
    main(sys.argv[1])
