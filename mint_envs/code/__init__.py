"""Code: the verdict on a program (``grade``), its sandbox, and the environment mint/Code-v0."""

from .grade import grade
from .sandbox import Sandbox

__all__ = ["Sandbox", "grade"]
