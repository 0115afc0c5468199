"""Judges: a model that says how good an answer is, and what keeps its verdicts honest."""

from .port import Answer, Judge, ScriptedJudge
from .question import Question

__all__ = ["Answer", "Judge", "Question", "ScriptedJudge"]
