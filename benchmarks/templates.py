"""What the chat templates in a folder speak, each proved by round trip and by played episodes.

``python -m benchmarks.templates FOLDER`` prints a row for each ``.jinja`` file that takes tools.
``nox -s templates`` fetches the templates of llama.cpp and of TRL, and holds every row to
``tests/data/templates.jsonl``. ``--table`` prints the table of docs/tooluse.md.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import mint_envs
from mint_envs.errors import MintEnvsError, SettingError, TokenizerError
from mint_envs.templates import LAST, ONE, TOOLS, ChatTemplate, Way
from mint_envs.tooluse.formats.learn import chat_template, learn, outcome
from mint_envs.tooluse.formats.registry import Format

#: Seeds of the episodes that are played with each template.
SEEDS = range(6)
_MARK = re.compile(r"<[^<>\s{}']{1,60}>|\[\|\w+\|\]|\[/?[A-Z_]{3,}\]|\[e~\[|\]~\w+\]")
_BLANK_THOUGHT = re.compile(
    r"</?think>|<\|(?:START|END)_THINKING\|>|<\|channel>thought\n<channel\|>"
)


@dataclass(frozen=True)
class Row:
    """What is known of one template. ``why``: why it is refused; ``seconds``: to learn it."""

    name: str
    how: str
    format: str = ""
    two: str = ""  # two calls in a message
    hostile: str = ""  # exact + alike / refused / wrong
    episodes: str = ""  # reward 1, of those played
    frames: str = ""  # episodes in which all that follows calls is the template's own
    context: str = ""  # beside the template's own rendering of the conversation
    stops: str = ""  # what ends a call, and an answer
    why: str = ""
    seconds: float = 0.0

    @property
    def stable(self) -> dict[str, Any]:
        """The row without what a clock says."""
        return {key: value for key, value in asdict(self).items() if key != "seconds"}


def row_of(path: Path) -> Row | None:
    """Return the row of a template; None if it takes no tools."""
    source = path.read_text(encoding="utf-8")
    chat = chat_template(source)
    if not chat.lists_tools:
        return None
    start = time.perf_counter()
    try:
        learned = learn(chat)
    except SettingError as error:
        why = str(error).partition(": ")[2].partition(". ")[0]
        return Row(path.stem, "refused", why=why, seconds=time.perf_counter() - start)
    seconds = time.perf_counter() - start
    ends = chat.ends
    return Row(
        path.stem,
        learned.how,
        learned.format.name,
        dict(learned.outcomes).get("two", "not printed"),
        "-" if learned.way is None else hostile_outcomes(chat, learned.way, learned.format),
        *played(source, chat),
        " / ".join([ends.call or "-", *ends.answers]),
        seconds=round(seconds, 2),
    )


# -- hostile values -----------------------------------------------------------------------------


def hostile_values(chat: ChatTemplate, way: Way) -> list[str]:
    """Return strings made of the format's own framing, whole calls among them."""
    one = chat.turn([(TOOLS[0], {"s": ONE})], way)
    pair = chat.turn([(TOOLS[0], {"s": ONE, "w": LAST})], way)
    (before, _, after), between = one.partition(ONE), pair.partition(ONE)[2].partition(LAST)[0]
    end = chat.body(after)
    texts = [*chat.marks(one), after, between, before, one, f"{end} more", between + "x" + after]
    texts += [end + one, end + before + "a" + between + "b", f"{end}\n\n{one}"]
    texts += [text.replace("\n", "") for text in texts]
    texts += ["</think>", "<think>a</think>b", " edge ", "\nedge\n", "", "'", '"', "a', w='b", "\\"]
    return list(dict.fromkeys(x for text in texts for x in (text, f"x{text}y")))


def hostile_outcomes(chat: ChatTemplate, way: Way, format: Format) -> str:
    """Return how many hostile values come back, are refused, and become another call."""
    found: Counter[str] = Counter()
    for value in hostile_values(chat, way):
        found[outcome(chat, way, format, [(TOOLS[0], {"s": value})])] += 1
    wrong = found["wrong"] + found["unread"]
    return f"{found['exact'] + found['alike']} / {found['refused']} / {wrong}"


# -- played episodes ----------------------------------------------------------------------------


def tokenizer_of(source: str, chat: ChatTemplate) -> Any:
    """Return a tokenizer of bytes, and of the marks that the template writes."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    inner = Tokenizer(models.BPE(vocab={c: i for i, c in enumerate(alphabet)}, merges=[]))
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    marks = set(_MARK.findall(source))
    with suppress(TokenizerError):
        marks |= set(chat.marks(chat.render([], True)))
    with suppress(TokenizerError, IndexError):
        marks |= set(chat.marks(chat.turn([(TOOLS[0], {"s": ONE})], chat.ways[0])))
    ends = {mark for mark in (chat.ends.call, *chat.ends.answers) if mark} - {"<EOS>"}
    marks -= {"<BOS>", "<EOS>"}
    marks |= ends
    inner.add_special_tokens([AddedToken(mark, special=True) for mark in sorted(marks)])
    eos = next((end for end in chat.ends.answers if end in ends), "</s>")
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=inner, eos_token=eos, bos_token="<s>")
    tokenizer.chat_template = source
    return tokenizer


def played(source: str, chat: ChatTemplate) -> tuple[str, str, str]:
    """Return how many episodes earn 1.0, in how many all result frames are the template's, and
    whether contexts are what the template renders of the whole conversation."""
    env = mint_envs.make(
        "mint/ToolUse-v0", tokenizer=tokenizer_of(source, chat), toolkit="keyvalue", plain=True
    )
    right, frames, equal, loosely = 0, 0, 0, 0
    for seed in SEEDS:
        reward, framed, ours, theirs = play(env.unwrapped, seed)
        right += reward == 1.0
        frames += framed
        equal += same(ours, theirs)
        loosely += same(_bare(ours), _bare(theirs))
    count = len(SEEDS)
    kind = "equal" if equal == count else "but for thoughts" if loosely == count else "rewritten"
    return f"{right}/{count}", f"{frames}/{count}", kind


def _bare(text: str) -> str:
    return "".join(_BLANK_THOUGHT.sub("", text).split())


def play(env: Any, seed: int) -> tuple[float, bool, str, str]:
    """Play one episode as the template writes it.

    Returns:
        (reward, whether what we wrote ends what the template renders, turn by turn, the context,
        the template's own rendering of the conversation)
    """
    codec, task = env.codec, env.task
    obs, _ = env.reset(seed=seed)
    twin = task.start(env.problem)
    messages = [dict(m) for m in codec.fitting(task.prompt(env.problem))]
    tools = [tool for m in messages for tool in m.pop("tools", ())] or None
    context, request = obs.tolist(), env.problem.request
    reward, framed, made, whole = 0.0, True, 0, ""
    for turn in _one_by_one(request.turns, task.framing):
        ids = [f"id{made + place:07d}" for place in range(len(turn))]
        made += len(turn)
        text = _text_of_calls(codec, task.framing, messages, tools, turn, ids)
        act = [*codec.encode_response(text), _stop(env, codec.chat.ends.call)]
        obs, reward, *_ = env.step(act)
        context += [*act, *obs.tolist()]
        results = [dict(m) for m in twin.respond(text)]
        mine: Any = {"role": "assistant", "content": text}
        if task.framing.way is not None:
            numbers = any(result["tool_call_id"].isdecimal() for result in results)
            own = ids if numbers else [result["tool_call_id"] for result in results]
            mine = task.framing.made(turn, own)
            results = [{**r, "tool_call_id": i} for r, i in zip(results, own, strict=True)]
        messages += [dict(mine), *results]
        with suppress(TokenizerError):  # some refuse two answers in a row
            whole = _rendered(codec, messages, tools, True)
        framed &= whole.endswith(codec.decode(obs.tolist()))
    answer = "Done." if request.answer is None else f"Answer: {request.answer}"
    messages.append({"role": "assistant", "content": answer})
    whole = "refused"
    with suppress(TokenizerError):
        whole = _rendered(codec, messages, tools)
    text = _text_of_answer(codec, messages, tools, whole, answer)
    ends = codec.chat.ends.answers
    _, reward, *_ = env.step([*codec.encode_response(text), _stop(env, next(iter(ends), ""))])
    return float(reward), framed, codec.decode(context) + text, whole


def _text_of_calls(
    codec: Any, framing: Any, messages: Sequence[Any], tools: Any, turn: Any, ids: Sequence[str]
) -> str:
    """Return what the template writes for these calls, in this conversation."""
    if framing.way is None:
        return str(framing.calls(turn))
    results = [
        {"role": "tool", "content": "r", "name": name, "tool_call_id": own}
        for (name, _), own in zip(turn, ids, strict=True)
    ]
    going = [*messages, dict(framing.made(turn, ids)), *results]
    whole, asked = (_rendered(codec, m, tools, True) for m in (going, messages))
    bare = _rendered(codec, going[: len(messages) + 1], tools, False)
    text = bare[len(codec.chat.shared(whole, asked)) :]
    text = str(codec.chat.body(text))
    read = [(call.name, call.arguments) for call in framing.read(text, None)]
    if [name for name, _ in read] == [name for name, _ in turn]:
        return text
    return str(framing.calls(turn))  # the template changes what stands before


def _text_of_answer(
    codec: Any, messages: Sequence[Any], tools: Any, whole: str, answer: str
) -> str:
    """Return what the template writes for an answer, up to the end of the turn."""
    text = answer
    with suppress(TokenizerError):
        asked = _rendered(codec, messages[:-1], tools, True)
        text = whole[len(codec.chat.shared(whole, asked)) :]
    before, found, after = text.rpartition(answer)
    ends = [after.find(mark) for mark in codec.chat.ends.answers if mark in after]
    return before + (found or answer) + after[: min(ends, default=0)]


def same(ours: str, theirs: str) -> bool:
    """Tell whether a context is what the template renders, but for what stands at the very end.

    There some write a line break, or open the next turn; others leave the end to the next turn.
    """
    ours, theirs = ours.strip(), theirs.strip()
    return ours.startswith(theirs) or theirs.startswith(ours)


def _rendered(codec: Any, messages: Sequence[Any], tools: Any, prompt: bool = False) -> str:
    """Return the whole conversation, as the template writes it."""
    bare = [{k: v for k, v in message.items() if k != "trusted"} for message in messages]
    return str(codec._rendered(bare, tools or (), prompt))


def _one_by_one(turns: Any, framing: Any) -> Iterator[Any]:
    """Yield the turns; of a template that prints one call a message, one call a turn."""
    for turn in turns:
        whole = True
        if framing.way is not None:
            try:
                text = framing.chat.turn(turn, framing.way)
                whole = len(framing.read(framing.chat.body(text), None)) == len(turn)
            except TokenizerError:
                whole = False
        yield from [turn] if whole else ([call] for call in turn)


def _stop(env: Any, mark: str) -> int:
    found = env.codec.encode_response(mark) if mark else []
    return found[0] if len(found) == 1 else env.codec.eos_token_id


# -- the command --------------------------------------------------------------------------------


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.templates", description=__doc__)
    parser.add_argument(
        "folder", type=Path, nargs="+", help="holds .jinja files; TRL's twins for training are left"
    )
    parser.add_argument("--table", action="store_true", help="print the table of the docs")
    parser.add_argument("--write", type=Path, help="write the rows to this file")
    parser.add_argument("--check", type=Path, help="fail where a row is not as in this file")
    args = parser.parse_args(argv)
    found = (path for folder in args.folder for path in folder.glob("*.jinja"))
    paths = {path.stem: path for path in found if not path.stem.endswith("_training")}
    rows = []
    for _, path in sorted(paths.items()):
        try:
            row = row_of(path)
        except MintEnvsError as error:
            row = Row(path.stem, "fails", why=str(error)[:300])
        if row is not None:
            rows.append(row)
            if not args.table:
                print(json.dumps(asdict(row), ensure_ascii=False), flush=True)
    if args.table:
        print(table(rows))
    print(Counter(row.how for row in rows), max((r.seconds for r in rows), default=0.0))
    stable = {row.name: row.stable for row in rows}
    if args.write:
        rows_text = [json.dumps(row, ensure_ascii=False) for row in stable.values()]
        args.write.write_text("\n".join(rows_text) + "\n", encoding="utf-8")
    if args.check:
        lines = args.check.read_text(encoding="utf-8").splitlines()
        wanted = {row["name"]: row for row in map(json.loads, lines)}
        sys.exit(_differ(stable, wanted))


def _differ(rows: dict[str, Any], wanted: dict[str, Any]) -> bool:
    """Say which rows are not as wanted; tell whether any."""
    other = [name for name in wanted if rows.get(name) != wanted[name]]
    for name in other:
        print(f"{name}: {rows.get(name)}, not {wanted[name]}", file=sys.stderr)
    return bool(other)


def table(rows: Sequence[Row]) -> str:
    """Return the rows as a table in Markdown."""
    head = ("template", "format", "two calls", "hostile", "earn 1.0", "results", "context", "ends")
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for row in rows:
        name = f"{row.how}: {row.format.removeprefix('derived: ')}" if row.format else row.how
        cells = (
            row.name,
            name,
            row.two,
            row.hostile,
            row.episodes,
            row.frames,
            row.context,
            row.stops,
        )
        cells = [row.name, row.how, row.why, *[""] * 5] if row.why else cells
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
