"""Code: the verdict on a program (``grade``), its sandbox, and the environment mint/Code-v0."""

from ..sandbox import Sandbox
from .grade import grade
from .tasks import CodeTask

__all__ = ["CodeTask", "Sandbox", "grade"]
