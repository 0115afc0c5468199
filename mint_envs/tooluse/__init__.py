"""Tool use: the calls in a text (``parse_calls``), their verdict (``grade_calls``), tools,
and the environment mint/ToolUse-v0."""

from .calls import FORMATS, Call, format_of, parse_calls
from .grade import grade_calls
from .schemas import ToolTable
from .state import diff, grade_state
from .tasks import ToolUseTask
from .toolkits import TOOLKITS
from .tools import ToolError, Toolkit, ToolResult, schema_of, tool

__all__ = [
    "FORMATS",
    "TOOLKITS",
    "Call",
    "ToolError",
    "ToolResult",
    "ToolTable",
    "ToolUseTask",
    "Toolkit",
    "diff",
    "format_of",
    "grade_calls",
    "grade_state",
    "parse_calls",
    "schema_of",
    "tool",
]
