"""Tool use: the calls in a text (``parse_calls``), their verdict (``grade_calls``), the tools."""

from .calls import FORMATS, Call, format_of, parse_calls
from .grade import grade_calls
from .schemas import ToolTable

__all__ = ["FORMATS", "Call", "ToolTable", "format_of", "grade_calls", "parse_calls"]
