"""What verifiers finds under the package id ``mint_envs_verifiers``.

An id may have no dots, so the wheel holds this file under that name, at its top.
"""

from mint_envs.interop.verifiers import __all__

__all__ += []  # the list itself: MintTaskset is made when it is asked for
