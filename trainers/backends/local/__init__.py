"""LoRA on a real model on this machine: torch, transformers and peft.

The default is SmolLM2-135M-Instruct on the CPU; any Hugging Face causal LM, a folder or a name,
works by ``base_model``, on a GPU if there is one, with the same code.
"""

from .backend import LocalBackend

__all__ = ["LocalBackend"]
