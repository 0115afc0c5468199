"""Chat: verifiable instructions (``grade_instructions``) and the environment mint/Chat-v0."""

from .instructions import KINDS, LEFT_OUT, grade_instructions
from .tasks import ChatProblem, ChatTask

__all__ = ["KINDS", "LEFT_OUT", "ChatProblem", "ChatTask", "grade_instructions"]
