"""Writes the weights of the embedded model as vLLM wants them: `python convert.py MODEL.gguf FOLDER`, offline.

Runs in vLLM's own environment, which has torch and transformers.
"""

import json
import sys
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig


def convert(source: Path, target: Path) -> None:
    folder, file = str(source.parent), source.name
    model = AutoModelForCausalLM.from_pretrained(
        folder,
        gguf_file=file,
        # Weights that stay quantised can be run here but not saved.
        quantization_config=GgufConfig(dequantize=True),
        dtype=torch.bfloat16,
    )
    model.save_pretrained(target)
    AutoTokenizer.from_pretrained(folder, gguf_file=file).save_pretrained(target)
    configuration = target / "config.json"
    content = json.loads(configuration.read_text(encoding="utf-8"))
    content.setdefault("architectures", ["LlamaForCausalLM"])
    configuration.write_text(json.dumps(content, indent=2), encoding="utf-8")


if __name__ == "__main__":
    convert(Path(sys.argv[1]), Path(sys.argv[2]))
