"""Tool use: the calls in a text (``parse_calls``), their verdict (``grade_calls``), tools,
and the environment mint/ToolUse-v0."""

from .bfcl import grade_turns
from .formats.calls import Call, parse_calls, write_calls
from .formats.learn import format_of
from .formats.registry import FORMATS, register_format
from .grade import grade_calls
from .tasks import ToolUseTask
from .toolkits import TOOLKITS
from .toolkits.schemas import ToolTable
from .toolkits.state import diff, grade_state
from .toolkits.tools import ToolError, Toolkit, ToolResult, schema_of, tool

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
    "grade_turns",
    "parse_calls",
    "register_format",
    "schema_of",
    "tool",
    "write_calls",
]
