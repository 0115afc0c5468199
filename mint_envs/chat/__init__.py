"""Chat: verifiable instructions (``grade_instructions``), judges, and mint/Chat-v0."""

from .instructions import LEFT_OUT, grade_instructions
from .judge import Answer, Judge, Question, ScriptedJudge
from .kinds import KINDS
from .rows import ChatProblem
from .tasks import ChatTask

__all__ = [
    "KINDS",
    "LEFT_OUT",
    "Answer",
    "ChatProblem",
    "ChatTask",
    "Judge",
    "Question",
    "ScriptedJudge",
    "grade_instructions",
]
