"""Sentence embeddings from a table of token vectors: runs inside a worker process.

The vector of a text is the mean of the vectors of its tokens, scaled to length 1. The table and the tokenizer are the
files inside the `wordllama` wheel (32,000 tokens, 256 dimensions); its code is never imported, because it would bring
packages that nothing here needs, and download what it does not find.
"""

import base64
import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file
from tokenizers import Tokenizer

PACKAGE = "wordllama"
TABLE = "weights/l2_supercat_256.safetensors"
TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"


class StaticTable:
    def __init__(self) -> None:
        """Raises FileNotFoundError where the wheel is not installed."""
        folder = _find_package()
        self._tokenizer = Tokenizer.from_file(str(folder / TOKENIZER))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._table = load_file(folder / TABLE)["embedding.weight"].astype(np.float32)
        self.about = {"dimensions": int(self._table.shape[1])}

    def compute(self, items: list[str]) -> list[Any]:
        """`[base64 of little-endian 32-bit floats, tokens]` for each text; `{"error": ...}` for one without token."""
        encodings = self._tokenizer.encode_batch(items, add_special_tokens=False)
        return [self._embed(encoding.ids) for encoding in encodings]

    def _embed(self, ids: list[int]) -> Any:
        if not ids:
            return {"error": "The text holds nothing that the model knows."}
        mean = self._table[ids].mean(axis=0)
        length = float(np.linalg.norm(mean))
        vector = (mean / length if length else mean).astype("<f4")
        return [base64.b64encode(vector.tobytes()).decode(), len(ids)]


def _find_package() -> Path:
    spec = importlib.util.find_spec(PACKAGE)
    for location in (spec.submodule_search_locations or []) if spec else []:
        if (Path(location) / TABLE).is_file():
            return Path(location)
    raise FileNotFoundError(f"{TABLE} not found; install it with: pip install --no-deps {PACKAGE}")
