"""Judges: a model that says how good an answer is, and what keeps its verdicts honest."""

from .port import Answer, Judge, ScriptedJudge
from .question import Question, read_fenced

__all__ = ["Answer", "Judge", "Question", "ScriptedJudge", "read_fenced"]
