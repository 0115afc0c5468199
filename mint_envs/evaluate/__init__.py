"""How good is a model at an environment, and is there anything to learn?"""

from .plan import EvalPlan
from .result import EvalOutcome, Evaluation, compare
from .run import evaluate

__all__ = ["EvalOutcome", "EvalPlan", "Evaluation", "compare", "evaluate"]
