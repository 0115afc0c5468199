"""Code: the verdict on a program (``grade``), its sandbox, and the environment mint/Code-v0."""

from .grade import grade
from .sandbox import Sandbox
from .tasks import CodeTask

__all__ = ["CodeTask", "Sandbox", "grade"]
