"""Small tokenizers whose chat templates know of tools, in the common ways; all our own."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from tokenizers_for_tests import CORPUS

_END = "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"

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
    "<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endif %}{% endfor %}" + _END
)

#: As Llama 3.1: calls are bare JSON, results come as the role ipython, quoted as JSON.
LLAMA = (
    "{{ bos_token }}<|start_header_id|>system<|end_header_id|>\n\nEnvironment: ipython\n"
    "{% for m in messages %}{% if m['role'] == 'system' %}{{ m['content'] | trim }}"
    "{% if tools %}{% for tool in tools %}\n{{ tool | tojson }}{% endfor %}{% endif %}<|eot_id|>"
    "{% elif m['role'] == 'tool' %}"
    "<|start_header_id|>ipython<|end_header_id|>\n\n{{ m['content'] | tojson }}<|eot_id|>"
    "{% else %}<|start_header_id|>{{ m['role'] }}<|end_header_id|>\n\n"
    "{{ m['content'] | trim }}<|eot_id|>{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<|start_header_id|>assistant<|end_header_id|>\n\n{% endif %}"
)

#: As GLM 4.5: a role of its own for what is observed.
GLM = (
    "<sop>{% if tools %}<|system|>\n# Tools{% for tool in tools %}\n{{ tool | tojson }}"
    "{% endfor %}\n<tool_call>name\n<arg_key>key</arg_key>\n<arg_value>value</arg_value>\n"
    "</tool_call>{% endif %}{% for m in messages %}{% if m['role'] == 'tool' %}"
    "{% if messages[loop.index0 - 1]['role'] != 'tool' %}<|observation|>{% endif %}"
    "\n<tool_response>\n{{ m['content'] }}\n</tool_response>"
    "{% else %}<|{{ m['role'] }}|>\n{{ m['content'] }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>\n{% endif %}"
)

#: As Mistral: a result must belong to a call that the template has seen.
STERN = (
    "<s>{% for m in messages %}{% if m['role'] == 'tool' %}"
    "{% if m.tool_call_id is not defined %}"
    "{{ raise_exception('a tool message needs a tool_call_id') }}{% endif %}"
    "[TOOL_RESULTS]{{ m['content'] }}[/TOOL_RESULTS]"
    "{% elif m['role'] == 'assistant' %}{{ m['content'] }}</s>"
    "{% else %}{% if tools and loop.last %}[AVAILABLE_TOOLS]{{ tools | tojson }}"
    "[/AVAILABLE_TOOLS]{% endif %}[INST]{{ m['content'] }}[/INST]{% endif %}{% endfor %}"
    "{# calls are [TOOL_CALLS] and JSON #}"
)

_CHATML = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
_TAGS = ["<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>"]
_LLAMA = ["<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"]
_MISTRAL = ["[TOOL_CALLS]", "[TOOL_RESULTS]", "[/TOOL_RESULTS]", "[INST]", "[/INST]"]

#: name -> (template, special tokens, added tokens that are not special, eos, format)
KNOWING: dict[str, tuple[str, list[str], list[str], str, str]] = {
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
}


@lru_cache
def knowing_tokenizer(shape: str) -> Any:
    """Return a byte-level BPE tokenizer with one of the templates above."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    template, specials, added, eos, _ = KNOWING[shape]
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
