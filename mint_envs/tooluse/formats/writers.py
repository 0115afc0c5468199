"""Write calls in each format, as a model of that format does: the inverse of the readers."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

#: One call: the tool's name and its arguments.
Step = tuple[str, Mapping[str, Any]]

_SEP = "<\uff5ctool\u2581sep\uff5c>"
_DEEPSEEK = ("<\uff5ctool\u2581calls\u2581begin\uff5c>", "<\uff5ctool\u2581calls\u2581end\uff5c>")
_DEEPSEEK_CALL = (
    "<\uff5ctool\u2581call\u2581begin\uff5c>",
    "<\uff5ctool\u2581call\u2581end\uff5c>",
)


def as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _json_call(call: Step, key: str = "arguments") -> str:
    return as_json({"name": call[0], key: dict(call[1])})


def _hermes(calls: Sequence[Step]) -> str:
    return "\n".join(f"<tool_call>\n{_json_call(call)}\n</tool_call>" for call in calls)


def _bare_value(value: Any) -> str:
    return value if isinstance(value, str) else as_json(value)


def _qwen3_coder(calls: Sequence[Step]) -> str:
    def one(name: str, arguments: Mapping[str, Any]) -> str:
        pairs = [f"<parameter={k}>\n{_bare_value(v)}\n</parameter>\n" for k, v in arguments.items()]
        return f"<tool_call>\n<function={name}>\n{''.join(pairs)}</function>\n</tool_call>"

    return "\n".join(one(*call) for call in calls)


def _glm45(calls: Sequence[Step]) -> str:
    def one(name: str, arguments: Mapping[str, Any]) -> str:
        pairs = [
            f"<arg_key>{k}</arg_key>\n<arg_value>{_bare_value(v)}</arg_value>\n"
            for k, v in arguments.items()
        ]
        return f"<tool_call>{name}\n{''.join(pairs)}</tool_call>"

    return "\n".join(one(*call) for call in calls)


def _llama3_json(calls: Sequence[Step]) -> str:
    return "; ".join(_json_call(call, "parameters") for call in calls)


def _python(value: Any) -> str:
    """A JSON value as a Python literal; a JSON string is one already."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{as_json(k)}: {_python(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_python, value))}]"
    return as_json(value) if isinstance(value, str) else repr(value)


def _call_expression(call: Step) -> str:
    name, arguments = call
    return f"{name}({', '.join(f'{key}={_python(value)}' for key, value in arguments.items())})"


def _llama_pythonic(calls: Sequence[Step]) -> str:
    return f"[{', '.join(map(_call_expression, calls))}]"


def _lfm2(calls: Sequence[Step]) -> str:
    return f"<|tool_call_start|>{_llama_pythonic(calls)}<|tool_call_end|>"


def _gemma_tool_code(calls: Sequence[Step]) -> str:
    return "```tool_code\n" + "\n".join(map(_call_expression, calls)) + "\n```"


def _mistral(calls: Sequence[Step]) -> str:
    return f"[TOOL_CALLS] [{', '.join(map(_json_call, calls))}]"


def _granite33(calls: Sequence[Step]) -> str:
    return f"<|tool_call|>[{', '.join(map(_json_call, calls))}]"


def _enclosed(marks: tuple[str, str], texts: Sequence[str]) -> str:
    return f"{marks[0]}{''.join(texts)}{marks[1]}"


def _deepseek(body: str) -> Callable[[Sequence[Step]], str]:
    def write(calls: Sequence[Step]) -> str:
        texts = [
            _enclosed(_DEEPSEEK_CALL, [body.format(name=name, json=as_json(dict(arguments)))])
            for name, arguments in calls
        ]
        return _enclosed(_DEEPSEEK, texts)

    return write


def _kimi_k2(calls: Sequence[Step]) -> str:
    texts = [
        f"<|tool_call_begin|>functions.{name}:{place}<|tool_call_argument_begin|>"
        f"{as_json(dict(arguments))}<|tool_call_end|>"
        for place, (name, arguments) in enumerate(calls)
    ]
    return _enclosed(("<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"), texts)


def _harmony(calls: Sequence[Step]) -> str:
    return "<|start|>assistant".join(
        f"<|channel|>commentary to=functions.{name} <|constrain|>json<|message|>"
        f"{as_json(dict(arguments))}<|call|>"
        for name, arguments in calls
    )


def _openai_message(calls: Sequence[Step]) -> str:
    made = [
        {
            "id": f"call_{place}",
            "type": "function",
            "function": {"name": name, "arguments": as_json(dict(arguments))},
        }
        for place, (name, arguments) in enumerate(calls)
    ]
    return as_json({"role": "assistant", "content": None, "tool_calls": made})


WRITERS: dict[str, Callable[[Sequence[Step]], str]] = {
    "hermes": _hermes,
    "qwen3_coder": _qwen3_coder,
    "llama3_json": _llama3_json,
    "llama_pythonic": _llama_pythonic,
    "mistral": _mistral,
    "glm45": _glm45,
    "deepseek_v3": _deepseek(f"function{_SEP}{{name}}\n```json\n{{json}}\n```"),
    "deepseek_v31": _deepseek(f"{{name}}{_SEP}{{json}}"),
    "gemma_tool_code": _gemma_tool_code,
    "openai_message": _openai_message,
    "harmony": _harmony,
    "kimi_k2": _kimi_k2,
    "lfm2": _lfm2,
    "granite33": _granite33,
}
