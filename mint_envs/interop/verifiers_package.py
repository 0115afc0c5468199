"""What verifiers finds under the package id ``mint_envs_verifiers``.

An id may have no dots, so the wheel holds this file under that name, at its top.
"""

from typing import Any

from mint_envs.interop import verifiers

__all__ = ["MintTaskset"]  # noqa: F822  (made when asked for)


def __getattr__(name: str) -> Any:
    return getattr(verifiers, name)
