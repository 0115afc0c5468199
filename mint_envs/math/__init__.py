"""Mathematics: the verdict on an answer (``grade``) and the environment mint/Math-v0."""

from .grade import grade
from .rows import MathProblem, UnreadableAnswers
from .tasks import MathTask

__all__ = ["MathProblem", "MathTask", "UnreadableAnswers", "grade"]
