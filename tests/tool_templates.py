"""Small tokenizers whose chat templates know of tools, in the common ways; all our own."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from tokenizers_for_tests import CORPUS

_END = "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
_EACH = "{% for call in m.tool_calls or [] %}{% set f = call.function %}"
_BR = "{{ '\\n' }}"  # a line break right behind a tag of jinja's is taken away
_COMMA = "{% if not loop.last %}, {% endif %}"
_LISTED = "{% if tools %}{% for tool in tools %}\n{{ tool | tojson }}{% endfor %}{% endif %}"


def chatml(calls: str, results: str = "{{ m.content }}", system: str = "") -> str:
    """Return a template like Qwen's: ``calls`` prints the calls of ``m``, ``results`` a result."""
    return (
        "{% if messages[0].role == 'system' or tools %}<|im_start|>system\n"
        "{% if messages[0].role == 'system' %}"
        + (system or "{{ messages[0].content }}")
        + "{% endif %}"
        + _LISTED
        + "<|im_end|>\n{% endif %}"
        "{% for m in messages %}{% if m.role == 'tool' %}<|im_start|>tool\n"
        + results
        + "<|im_end|>\n{% elif m.role != 'system' %}<|im_start|>{{ m.role }}\n"
        "{{ m.content or '' }}" + calls + "<|im_end|>\n{% endif %}{% endfor %}" + _END
    )


#: As Qwen: tools in the system turn, the results of one message share a turn of the user's.
HERMES = (
    "{% if tools %}<|im_start|>system\n{{ messages[0]['content'] }}\n\n# Tools\n<tools>"
    "{% for tool in tools %}\n{{ tool | tojson }}{% endfor %}\n</tools>\nWrite each call as\n"
    '<tool_call>\n{"name": ..., "arguments": ...}\n</tool_call><|im_end|>\n'
    "{% elif messages[0]['role'] == 'system' %}"
    "<|im_start|>system\n{{ messages[0]['content'] }}<|im_end|>\n{% endif %}"
    "{% for m in messages %}{% if m['role'] == 'tool' %}"
    "{% if loop.first or messages[loop.index0 - 1]['role'] != 'tool' %}<|im_start|>user"
    "{% endif %}\n<tool_response>\n{{ m['content'] }}\n</tool_response>"
    "{% if loop.last or messages[loop.index0 + 1]['role'] != 'tool' %}<|im_end|>\n{% endif %}"
    "{% elif m['role'] != 'system' %}"
    "<|im_start|>{{ m['role'] }}\n{{ m['content'] or '' }}"
    + _EACH
    + "{% if m.content or not loop.first %}"
    + _BR
    + "{% endif %}"
    '<tool_call>\n{"name": "{{ f.name }}", "arguments": {{ f.arguments | tojson }}}\n</tool_call>'
    "{% endfor %}<|im_end|>\n{% endif %}{% endfor %}" + _END
)

#: As Llama 3.1: calls are bare JSON, one a message; results come as ipython, quoted as JSON.
LLAMA = (
    "{{ bos_token }}<|start_header_id|>system<|end_header_id|>\n\nEnvironment: ipython\n"
    "{% for m in messages %}{% if m['role'] == 'system' %}{{ m['content'] | trim }}"
    "{% if tools %}{% for tool in tools %}\n{{ tool | tojson }}{% endfor %}{% endif %}<|eot_id|>"
    "{% elif m['role'] == 'tool' %}"
    "<|start_header_id|>ipython<|end_header_id|>\n\n{{ m['content'] | tojson }}<|eot_id|>"
    "{% elif m.tool_calls %}"
    "{% if m.tool_calls | length != 1 %}{{ raise_exception('one call a message') }}{% endif %}"
    "{% set f = m.tool_calls[0].function %}<|start_header_id|>assistant<|end_header_id|>\n\n"
    '{"name": "{{ f.name }}", "parameters": {{ f.arguments | tojson }}}<|eot_id|>'
    "{% else %}<|start_header_id|>{{ m['role'] }}<|end_header_id|>\n\n"
    "{{ m['content'] | trim }}<|eot_id|>{% endif %}"
    "{% if loop.first and m.role != 'system' and tools %}"
    "{% for tool in tools %}\n{{ tool | tojson }}{% endfor %}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<|start_header_id|>assistant<|end_header_id|>\n\n{% endif %}"
)

_PAIRS = "{% for k, v in f.arguments.items() %}"
_VALUE = "{{ v if v is string else v | tojson }}"

#: As GLM 4.5: a role of its own for what is observed, which ends a turn of calls.
GLM = (
    "<sop>{% if tools %}<|system|>\n# Tools{% for tool in tools %}\n{{ tool | tojson }}"
    "{% endfor %}\n<tool_call>name\n<arg_key>key</arg_key>\n<arg_value>value</arg_value>\n"
    "</tool_call>{% endif %}{% for m in messages %}{% if m['role'] == 'tool' %}"
    "{% if messages[loop.index0 - 1]['role'] != 'tool' %}<|observation|>{% endif %}"
    "\n<tool_response>\n{{ m['content'] }}\n</tool_response>"
    "{% else %}<|{{ m['role'] }}|>\n{{ m['content'] or '' }}" + _EACH + "<tool_call>{{ f.name }}\n"
    + _PAIRS + "<arg_key>{{ k }}</arg_key>\n<arg_value>" + _VALUE + "</arg_value>\n{% endfor %}"
    "</tool_call>{% if not loop.last %}" + _BR + "{% endif %}{% endfor %}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>\n{% endif %}"
)  # fmt: skip

#: As Mistral: a result must belong to a call that the template has seen, by an id of nine signs.
STERN = (
    "<s>{% for m in messages %}{% if m['role'] == 'tool' %}"
    "{% if m.tool_call_id is not defined or m.tool_call_id | length != 9 %}"
    "{{ raise_exception('a tool message needs a tool_call_id of nine signs') }}{% endif %}"
    '[TOOL_RESULTS]{"content": {{ m.content | tojson }}, "call_id": "{{ m.tool_call_id }}"}'
    "[/TOOL_RESULTS]"
    "{% elif m.tool_calls %}[TOOL_CALLS][" + _EACH + '{"name": "{{ f.name }}", '
    '"arguments": {{ f.arguments | tojson }}, "id": "{{ call.id }}"}'
    "{% if not loop.last %}, {% endif %}{% endfor %}]</s>"
    "{% elif m['role'] == 'assistant' %}{{ m['content'] }}</s>"
    "{% elif m.role == 'system' %}{% if loop.index0 %}{{ raise_exception('late') }}{% endif %}"
    "{% else %}{% if tools and loop.index0 == 0 or (tools and loop.index0 == 1 and "
    "messages[0].role == 'system') %}[AVAILABLE_TOOLS]{{ tools | tojson }}[/AVAILABLE_TOOLS]"
    "{% endif %}[INST]{% if loop.last and messages[0].role == 'system' %}"
    "{{ messages[0].content }}\n\n{% endif %}{{ m['content'] }}[/INST]{% endif %}{% endfor %}"
)

#: As Qwen3-Coder: values are plain text between tags.
CODER = chatml(
    _EACH + "{% if m.content or not loop.first %}" + _BR + "{% endif %}"
    "<tool_call>\n<function={{ f.name }}>\n"
    + _PAIRS + "<parameter={{ k }}>\n" + _VALUE + "\n</parameter>\n{% endfor %}"
    "</function>\n</tool_call>{% endfor %}"
)  # fmt: skip

#: As Kimi K2: the id of a call stands in it, and over its result.
KIMI = chatml(
    "{% if m.tool_calls %}<|tool_calls_section_begin|>" + _EACH + "<|tool_call_begin|>{{ call.id }}"
    "<|tool_call_argument_begin|>{{ f.arguments | tojson }}<|tool_call_end|>{% endfor %}"
    "<|tool_calls_section_end|>{% endif %}",
    "## Return of {{ m.tool_call_id }}\n{{ m.content }}",
)
KIMI = KIMI.replace("{{ call.id }}", "functions.{{ f.name }}:{{ loop.index0 }}")

#: As gpt-oss: one call a message, which ends otherwise than an answer does.
HARMONY = (
    "{% for m in messages %}{% if m.role == 'system' %}<|start|>developer<|message|>{{ m.content }}"
    "{% if tools %}{{ tools | tojson }}{% endif %}<|end|>"
    "{% elif m.tool_calls %}{% set f = m.tool_calls[0].function %}<|start|>assistant "
    "to=functions.{{ f.name }}<|channel|>commentary json<|message|>"
    "{{ f.arguments | tojson }}<|call|>"
    "{% elif m.role == 'tool' %}<|start|>functions.{{ m.name }} to=assistant<|channel|>commentary"
    "<|message|>{{ m.content | tojson }}<|end|>"
    "{% elif m.role == 'assistant' %}<|start|>assistant<|channel|>final<|message|>{{ m.content }}"
    "{% if loop.last %}<|return|>{% else %}<|end|>{% endif %}"
    "{% else %}<|start|>user<|message|>{{ m.content }}<|end|>{% if tools and loop.first %}"
    "{{ tools | tojson }}{% endif %}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<|start|>assistant{% endif %}"
)

#: No known reader reads these: a JSON list, results numbered over the whole conversation.
LISTS = chatml(
    "{% if m.tool_calls %}<acts>[" + _EACH + '{"tool": "{{ f.name }}", "input": '
    "{{ f.arguments | tojson }}}{% if not loop.last %}, {% endif %}{% endfor %}]</acts>{% endif %}"
)
#: Tags, in which all values are plain text.
TAGS = chatml(
    "{% if m.tool_calls %}<uses>\n" + _EACH + '<use tool="{{ f.name }}">\n' + _PAIRS
    + '<with key="{{ k }}">' + _VALUE + "</with>\n{% endfor %}"
    "</use>\n{% endfor %}</uses>{% endif %}"
)  # fmt: skip
#: As Gemma 4: bare keys, and strings between marks; a result needs the name of its tool.
MARKS = chatml(
    "{% macro lit(v) %}{% if v is string %}<|\"|>{{ v }}<|\"|>{% elif v is mapping %}{{ '{' }}"
    "{% for k, x in v.items() %}{{ k }}:{{ lit(x) }}{% if not loop.last %},{% endif %}"
    "{% endfor %}{{ '}' }}"
    "{% elif v is sequence %}[{% for x in v %}{{ lit(x) }}{% if not loop.last %},{% endif %}"
    "{% endfor %}]{% else %}{{ v | tojson }}{% endif %}{% endmacro %}" + _EACH
    + "<|call>call:{{ f.name }}{{ '{' }}" + _PAIRS + "{{ k }}:{{ lit(v) }}"
    "{% if not loop.last %},{% endif %}{% endfor %}{{ '}' }}<call|>{% endfor %}",
    "{% if not m.name %}{{ raise_exception('a result needs a name') }}{% endif %}"
    "response:{{ m.name }}{{ '{' }}{{ m.content }}{{ '}' }}",
)  # fmt: skip
#: Python calls, whose strings are not escaped.
PYTHONIC = chatml(
    "{% macro lit(v) %}{% if v is string %}'{{ v }}'{% else %}{{ v | tojson }}{% endif %}"
    "{% endmacro %}{% if m.tool_calls %}<run>["
    + _EACH
    + "{{ f.name }}("
    + _PAIRS
    + "{{ k }}={{ lit(v) }}"
    + _COMMA
    + "{% endfor %})"
    + _COMMA
    + "{% endfor %}]</run>{% endif %}"
)
#: A name, and then its arguments, which the template wants as JSON in a string.
NAMED = chatml(
    "{% if m.tool_calls %}"
    + _EACH
    + "<|use|>{{ f.name }}<|with|>{{ f.arguments + '' }}{% endfor %}"
    "<|used|>{% endif %}"
)
#: As LFM2: the tools are listed, but calls are not printed.
UNPRINTED = chatml("", system="{{ messages[0].content }}\nTools: <|tool_list_start|>")
#: As Llama 3.2's and ToolACE's: the prompt tells of Python calls; calls in history are no Python.
SAID = chatml(
    "{% if m.tool_calls %}["
    + _EACH
    + "{{ f.name }}("
    + _PAIRS
    + "{{ k }}={{ v }}"
    + _COMMA
    + "{% endfor %})"
    + _COMMA
    + "{% endfor %}]{% endif %}",
    system="Answer with [func_name1(name1=value1, ...)].\n{{ messages[0].content }}",
)
#: As EXAONE, and Command A: bars are marks, and before calls stands an empty thought.
BARS = (
    "{% for m in messages %}[|{{ m.role }}|]{{ m.content or '' }}"
    "{% if loop.first and tools %}{{ tools | tojson }}{% endif %}"
    "{% if m.tool_calls %}<think>\n\n</think>\n<acts>["
    + _EACH
    + '{"tool": "{{ f.name }}", "input": {{ f.arguments | tojson }}}'
    + _COMMA
    + "{% endfor %}]</acts>{% endif %}[|endofturn|]\n{% endfor %}"
    "{% if add_generation_prompt %}[|assistant|]{% endif %}"
)
#: As some of Gemma 4's: a result stands right behind its call, whose turn goes on.
INLINE = (
    "{% set v = namespace(last='') %}"
    "{% for m in messages %}{% if m.role == 'tool' %}<|seen>{{ m.name }}:{{ m.content }}<seen|>"
    "{% else %}{% if v.last != 'tool' or m.role != 'assistant' %}<|turn>{{ m.role }}\n{% endif %}"
    "{{ m.content or '' }}{% if loop.first and tools %}{{ tools | tojson }}{% endif %}"
    + _EACH
    + "<|call>{{ f.name }} {{ f.arguments | tojson }}<call|>{% endfor %}"
    "{% if not (m.tool_calls and not loop.last) %}<turn|>\n{% endif %}{% endif %}"
    "{% set v.last = m.role %}{% endfor %}"
    "{% if add_generation_prompt and v.last != 'tool' %}<|turn>assistant\n{% endif %}"
)
#: Keys are tags themselves: no grammar here says that.
NESTED = chatml(
    _EACH
    + "<{{ f.name }}>"
    + _PAIRS
    + "<{{ k }}>{{ v }}</{{ k }}>{% endfor %}</{{ f.name }}>{% endfor %}"
)
#: As Gemma: no role for the system, and turns must alternate.
ROLELESS = (
    "{% if messages[0].role == 'system' %}{{ raise_exception('no system') }}{% endif %}"
    + HERMES.replace("{{ messages[0]['content'] }}", "You have tools.")
)

_CHATML = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
_TAGS = ["<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>"]
_LLAMA = ["<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"]
_MISTRAL = ["[TOOL_CALLS]", "[TOOL_RESULTS]", "[/TOOL_RESULTS]", "[INST]", "[/INST]"]
_HARMONY = ["<|start|>", "<|end|>", "<|message|>", "<|channel|>", "<|call|>", "<|return|>"]
_KIMI = [f"<|tool_call{x}|>" for x in ("s_section_begin", "s_section_end", "_begin", "_end")]

Row = tuple[str, list[str], list[str], str, str]


def _like_qwen(template: str, format: str, *marks: str) -> Row:
    return template, [*_CHATML, *marks], [], "<|im_end|>", format


#: name -> (template, special tokens, added tokens that are not special, eos, format)
KNOWING: dict[str, Row] = {
    "hermes": (HERMES, _CHATML, _TAGS, "<|im_end|>", "hermes"),
    "llama": (LLAMA, [*_LLAMA, "<|eom_id|>", "<|python_tag|>"], [], "<|eot_id|>", "llama3_json"),
    "glm": (
        GLM,
        ["<|endoftext|>", "<sop>", "<|system|>", "<|user|>", "<|assistant|>", "<|observation|>"],
        [*_TAGS, "<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>"],
        "<|endoftext|>",
        "glm45",
    ),
    "stern": (STERN, ["<s>", "</s>", *_MISTRAL], [], "</s>", "mistral"),
    "coder": (CODER, _CHATML, _TAGS, "<|im_end|>", "qwen3_coder"),
    "kimi": _like_qwen(KIMI, "kimi_k2", *_KIMI, "<|tool_call_argument_begin|>"),
    "harmony": (HARMONY, _HARMONY, [], "<|return|>", "harmony"),
    "lists": _like_qwen(LISTS, "derived: JSON list", "<acts>", "</acts>"),
    "tags": _like_qwen(TAGS, "derived: tags"),
    "marks": _like_qwen(MARKS, "derived: marks", "<|call>", "<call|>", '<|"|>'),
    "pythonic": _like_qwen(PYTHONIC, "derived: Python call"),
    "named": _like_qwen(NAMED, "derived: name, JSON", "<|use|>", "<|with|>", "<|used|>"),
    "unprinted": _like_qwen(UNPRINTED, "lfm2", "<|tool_call_start|>", "<|tool_call_end|>"),
    "said": _like_qwen(SAID, "llama_pythonic"),
    "bars": (
        BARS,
        ["[|system|]", "[|user|]", "[|assistant|]", "[|tool|]", "[|endofturn|]"],
        ["<acts>", "</acts>"],
        "[|endofturn|]",
        "derived: JSON list",
    ),
    "inline": (
        INLINE,
        ["<|turn>", "<turn|>", "<|seen>", "<seen|>", "<|call>", "<call|>"],
        [],
        "<turn|>",
        "derived: name, JSON",
    ),
    "roleless": (ROLELESS, _CHATML, _TAGS, "<|im_end|>", "hermes"),
}
REFUSED: dict[str, Row] = {"nested": _like_qwen(NESTED, "")}


@lru_cache
def knowing_tokenizer(shape: str) -> Any:
    """Return a byte-level BPE tokenizer with one of the templates above."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    template, specials, added, eos, _ = {**KNOWING, **REFUSED}[shape]
    inner = Tokenizer(models.BPE())
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=320,
        special_tokens=specials,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    inner.train_from_iterator(CORPUS, trainer)
    inner.add_tokens([AddedToken(text, normalized=False, special=False) for text in added])
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=inner, additional_special_tokens=specials, eos_token=eos
    )
    if shape == "llama":
        tokenizer.bos_token = "<|begin_of_text|>"
    tokenizer.chat_template = template
    return tokenizer
