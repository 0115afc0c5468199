"""A chat template, asked what it writes: turns that hold calls, what ends them, what follows them.

Nothing is read in the template's text. Messages that are known are rendered, and what stands in the
renderings says how a template speaks. A template is foreign code, and may raise on any message.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, lru_cache
from itertools import takewhile
from typing import Any, NamedTuple

from .errors import TokenizerError
from .rendering import rendered_freely

Messages = Sequence[Mapping[str, Any]]
Call = tuple[str, Mapping[str, Any]]

#: (messages, tools, whether the next turn of the assistant is opened) -> text, or TokenizerError.
Render = Callable[[Messages, Messages, bool], str]

#: What is put into renderings, to be found again: tools, words, and values of arguments.
TOOLS = ("alpha_tool", "beta_tool", "gamma_tool")
WORDS, ANSWER, PROSE = "Userwords", "Answerwords", "Prosewords"
ONE, LAST = "onevalue", "lastvalue"
#: Parameters of the tools, and their types.
TYPES: dict[str, Any] = {
    **dict.fromkeys([*"stuvw", "key_a", "key_b"], "string"),
    **dict.fromkeys("in", "integer"),
    "x": "number",
    **dict.fromkeys("bc", "boolean"),
    **dict.fromkeys("lm", "array"),
    "o": "object",
    "z": ["integer", "null"],
}
#: Ends the call that a result is rendered after; no text of a result may hold it.
SENTINEL = "Zlastvaluez"

_MARK = r"<[^<>\s]+>|\[/?[A-Z_]{3,}\]|\[\|[^\[\]|\s]+\|\]|\[e~\[|\]~\w+\]"
_HALF = re.compile(r"(?:<[^<>\s]*|\[[A-Z_/]*|\[\|[^\[\]|\s]*\|?)$")
_NUMBERED = re.compile(r"(?:^|:)(\d{1,2})$")
_ID = "id00{place}wxyz"  # of nine characters: Mistral's takes no others


class Way(NamedTuple):
    """How the message of an assistant that calls is given."""

    text: bool  # arguments are JSON in a string, not a dictionary
    content: str | None  # what the content is where nothing is said


class Ends(NamedTuple):
    """What ends a turn: marks, ``""`` where none is seen."""

    call: str = ""
    written: bool = False  # the template writes the end of a call itself; else the next turn does
    answers: tuple[str, ...] = ()


#: The plainest first.
WAYS = tuple(Way(text, content) for text in (False, True) for content in ("", None))


def call_id(place: int) -> str:
    """Return the id of the call at this place in the renderings here."""
    return _ID.format(place=place)


def stub_tool(name: str, properties: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return a tool of that name, as templates take it."""
    schema = {"type": "object", "properties": dict(properties or {}), "required": []}
    return {
        "type": "function",
        "function": {"name": name, "description": "d", "parameters": schema},
    }


# Strings only: some templates fail on types that they do not expect.
_STUBS = tuple(
    stub_tool(name, {key: {"type": "string", "description": "d"} for key in TYPES})
    for name in TOOLS
)


def called(calls: Iterable[Call], way: Way, ids: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Return the ``tool_calls`` of a message."""
    found = []
    for place, (name, arguments) in enumerate(calls):
        given = json.dumps(arguments, ensure_ascii=False) if way.text else dict(arguments)
        own = ids[place] if place < len(ids) else call_id(place)
        function = {"name": name, "arguments": given}
        found.append({"type": "function", "id": own, "function": function})
    return found


class ChatTemplate:
    """One chat template.

    Args:
        render: renders messages; raises TokenizerError where the template refuses them.
        source: its text.
        marks: the special tokens of its tokenizer. What looks like a mark is taken for one, too.
        names: what else of its tokenizer a template may ask for, ``bos_token`` say.
    """

    def __init__(
        self,
        render: Render,
        source: str = "",
        marks: Iterable[str] = (),
        names: Mapping[str, Any] | None = None,
    ) -> None:
        self._fresh, self.source = render, source
        self._render = lru_cache(maxsize=512)(_keyed(render))  # for what is learned here
        self._special, self._names = tuple(marks), dict(names or {})
        special = sorted(map(re.escape, self._special), key=len, reverse=True)
        self.mark = re.compile("|".join([*special, _MARK]))

    def __reduce__(self) -> Any:
        """Another process renders the text of the template, without a tokenizer."""
        return free_template, (self.source, self._special, tuple(sorted(self._names.items())))

    def render(self, messages: Messages, prompt: bool = False, tools: Messages = _STUBS) -> str:
        """Return the text of the messages behind a user's; raises TokenizerError."""
        asked = [{"role": "user", "content": WORDS}, *messages]
        return self._render(json.dumps(asked), json.dumps(tools), prompt)

    def marks(self, text: str) -> list[str]:
        """Return the marks in a text, in order."""
        return self.mark.findall(text)

    @cached_property
    def lists_tools(self) -> bool:
        """True if a prompt with tools names them."""
        if self.asked_with_tools:
            return TOOLS[0] in self.asked_with_tools
        return bool(re.search(r"\btools\b", self.source))  # it wants to, and fails

    @cached_property
    def asked_with_tools(self) -> str:
        """As ``asked``, with tools; ``""`` if the template refuses them."""
        with suppress(TokenizerError):
            return self.render([], True)
        return ""

    @cached_property
    def ways(self) -> tuple[Way, ...]:
        """The ways in which calls show in a rendering, the plainest first; none of most.

        Text counts only where dictionaries do not show: a template prints it in the same braces.
        """
        found = [way for way in WAYS if self._shows(way)]
        return tuple(way for way in found if way.text == found[0].text)

    @cached_property
    def why_silent(self) -> str:
        """Why calls show in no way."""
        try:
            self.turn([(TOOLS[0], {"s": ONE})], WAYS[0])
        except TokenizerError as error:
            return str(error)
        return "it prints no calls"

    def _shows(self, way: Way) -> bool:
        with suppress(TokenizerError):
            text = self.turn([(TOOLS[0], {"s": ONE})], way)
            # A dictionary as Python writes it, in place of JSON: the model never saw that.
            return TOOLS[0] in text and ONE in text and str({"s": ONE}) not in text
        return False

    def turn(self, calls: Sequence[Call], way: Way, words: str = "") -> str:
        """Return the assistant's text: what its message adds to the prompt for it."""
        return self.written([message_of(calls, way, words)])

    def written(self, messages: Messages) -> str:
        """Return what messages add to the prompt for the first of them.

        Raises:
            TokenizerError: the template refuses them.
        """
        return self._added(self.render(messages), self.render([], True))

    def _added(self, whole: str, asked: str) -> str:
        """Return what a conversation adds to its prompt, by what stands behind the user's words.

        What stands before them may change: by a clock, or since an answer follows.
        """
        whole, asked = (text.rpartition(WORDS)[2] for text in (whole, asked))
        return whole[len(self.shared(whole, asked)) :]

    def shared(self, one: str, other: str) -> str:
        """Return the common beginning of two texts, without half a mark."""
        cut = alike(one, other)
        half = _HALF.search(one[:cut])
        if not half or {one[cut : cut + 1], other[cut : cut + 1]} & {"", "<"}:
            return one[:cut]
        return one[: half.start()]

    def ended_before(self, text: str, first: str, then: str) -> bool:
        """Tell whether a turn ends between two words of a text."""
        between = text.partition(first)[2].partition(then)[0]
        return any(mark in between for mark in (self.ends.call, *self.ends.answers) if mark)

    # -- ends ---------------------------------------------------------------------------------

    @cached_property
    def ends(self) -> Ends:
        """What ends a turn: what stands alike behind a last turn and behind one that is followed.

        gpt-oss ends a last answer with another mark than one that something follows, GLM ends a
        turn with the mark that opens the next one, and a call with another than an answer.
        """
        answers, seen = self._ends_of_answer()
        if not self.ways:
            return Ends("", False, answers)
        try:
            final, played = self._after_call()
        except TokenizerError:
            return Ends("", False, answers)
        between, openers = self._between_calls(), self._openers
        same = final[: alike(final, played)]
        if not set(same) & set(answers):  # the next turn is opened without an end of this one
            same = list(takewhile(lambda mark: mark not in openers, same))
        mine = [mark for mark in same if mark not in between]
        then = played[len(same) :][:1]
        both = [mark for mark in mine if mark in answers][:1]
        if not mine and not seen:  # the mark of the next turn ends this one, after answers too
            return Ends((then or [""])[0], False, answers)
        late = [mark for mark in then if mark in answers]
        # What brings a result may itself end the call, where nothing else stands before it.
        bare = [mark for mark in then if mark not in (*openers, *self.marks(between))]
        call = (both or late or mine[-1:] or bare or [*answers, ""])[0]
        return Ends(call, call in mine, tuple(both) or answers)

    def _ends_of_answer(self) -> tuple[tuple[str, ...], bool]:
        """Return the marks, and whether the template writes them when nothing follows."""
        answer = {"role": "assistant", "content": ANSWER}
        try:
            text = self.render([answer])
        except TokenizerError:
            return (), False
        if ANSWER not in text:
            return self._end_of_user, True
        final, more = self.marks(text.partition(ANSWER)[2]), list[str]()
        with suppress(TokenizerError):
            going = self.render([answer, {"role": "user", "content": PROSE}])
            more = self.marks(going.partition(ANSWER)[2].partition(PROSE)[0])
        same = final[: alike(final, more)]
        if text == self.render([answer], True):  # what opens the next turn is always there
            mine = [place for place, mark in enumerate(same) if mark in self._end_of_user]
            same = same[: mine[0] + 1] if mine else same
        found = same[-1:] or final[:1] or more[:1]
        if final and found[0] in self._openers:  # it closes no turn: eos does
            return self._end_of_user, True
        return tuple(found), bool(final)

    @cached_property
    def written_answer_ends(self) -> tuple[str, ...]:
        """What the template writes behind an answer, when something follows and when nothing does.

        Without those that are the next turn's.
        """
        answers, written = self._ends_of_answer()
        if not written:
            return ()
        answer = {"role": "assistant", "content": ANSWER}
        more: list[str] = []
        with suppress(TokenizerError):
            text = self.render([answer, {"role": "user", "content": PROSE}])
            more = self.marks(text.partition(ANSWER)[2].partition(PROSE)[0])[:1]
        return (*answers, *(mark for mark in more if mark not in self._openers))

    @cached_property
    def _end_of_user(self) -> tuple[str, ...]:
        """The first mark behind a user's turn."""
        return tuple(self.marks(self.asked.partition(WORDS)[2])[:1])

    @cached_property
    def asked(self) -> str:
        """A user's turn and what opens the next; without tools, if the template allows that."""
        for tools in ((), _STUBS):
            with suppress(TokenizerError):
                return self.render([], True, tools)
        return ""

    @cached_property
    def _openers(self) -> tuple[str, ...]:
        """What opens a user's turn: the marks right before it, without what ends another."""
        found: list[str] = []
        text = self.asked.partition(WORDS)[0]
        for mark in reversed(self.marks(text)[-3:]):
            if mark in self._end_of_user or not text.rstrip().endswith(mark):
                break
            text = text.rstrip().removesuffix(mark)
            found.append(mark)
        return tuple(found)

    def _after_call(self) -> tuple[list[str], list[str]]:
        """Return the marks behind a last call, and those between a call and its result."""
        calls, way = [(TOOLS[0], {"key_a": ONE, "key_b": LAST})], self.ways[0]
        result = {"role": "tool", "content": ANSWER, "name": TOOLS[0], "tool_call_id": call_id(0)}
        text = self.render([message_of(calls, way), result], True)
        played = text.partition(ANSWER)[0].rpartition(LAST)[2]
        return self.marks(self.turn(calls, way).rpartition(LAST)[2]), self.marks(played)

    def _between_calls(self) -> str:
        """Return what stands between two calls: it ends no turn."""
        with suppress(TokenizerError):
            two = self.turn([(TOOLS[0], {"s": ONE}), (TOOLS[1], {"s": LAST})], self.ways[0])
            between, last, _ = two.partition(ONE)[2].partition(LAST)
            return between if last else ""
        return ""

    def body(self, text: str) -> str:
        """Return a turn of calls without its end."""
        end = self.ends.call
        if self.ends.written and end in text:
            return text[: text.rfind(end)]
        # Nothing follows a last turn: some close its calls there as they close an answer.
        last = [mark for mark in self.ends.answers if mark and text.rstrip().endswith(mark)]
        return text[: text.rfind(last[0])] if last else text

    @cached_property
    def system_is_harmless(self) -> bool:
        """False if results are framed otherwise where the conversation has a system's message.

        Some templates leave that message out of the list, and then look at the wrong neighbour.
        """
        results = [
            {"role": "tool", "content": ANSWER, "name": name, "tool_call_id": call_id(place)}
            for place, name in enumerate(TOOLS[:2])
        ]
        with suppress(TokenizerError):
            return self.after_calls(results, system=True) == self.after_calls(results)
        return True

    def written_calls(self, calls: Sequence[Call], way: Way) -> str:
        """Return the text of a message with calls, as it stands in a conversation that goes on.

        (Some templates write an empty block of thought before a last message, and drop it later.)
        """
        ids = [f"call{place:05d}" for place in range(len(calls))]
        mine = {**message_of(calls, way), "tool_calls": called(calls, way, ids)}
        results = [
            {"role": "tool", "content": ANSWER, "name": name, "tool_call_id": own}
            for (name, _), own in zip(calls, ids, strict=True)
        ]
        asked = [{"role": "user", "content": WORDS}]
        tools = [stub_tool(name) for name in dict.fromkeys(name for name, _ in calls)]
        whole = self._fresh([*asked, mine, *results], tools, True)
        reply = self.after_calls(results)
        if not whole.endswith(reply):
            raise TokenizerError("what follows calls depends on what they are")
        return self._added(whole, self._fresh(asked, tools, True)).removesuffix(reply)

    @cached_property
    def answer_frame(self) -> tuple[str, str]:
        """What stands before and behind an answer within its turn: marks of a response, say."""
        with suppress(TokenizerError):
            before, answer, after = self.turn([], WAYS[0], ANSWER).partition(ANSWER)
            ends = [after.find(mark) for mark in self.ends.answers if mark in after]
            if answer:
                return before.strip(), after[: min(ends, default=len(after))].strip()
        return "", ""

    # -- results ------------------------------------------------------------------------------

    def after_calls(self, messages: Messages, system: bool = False) -> str:
        """Return what follows an assistant's calls: the end of its turn, ``messages``, the prompt.

        Args:
            messages: first the results, of the role ``tool``, each with ``name`` and
                ``tool_call_id`` of its call. No content may hold ``SENTINEL``.
            system: whether the conversation begins with a message of the system's.

        Raises:
            TokenizerError: the template refuses them.
        """
        results = [m for m in messages if m["role"] == "tool"]
        way = self.ways[0] if self.ways else WAYS[0]
        try:
            return self._after(results, messages, way, system)
        except TokenizerError:
            if len(results) == 1:
                raise
        return self._after(results[:1], messages, way, system)  # a template of one call a message

    def _after(self, results: Messages, messages: Messages, way: Way, system: bool) -> str:
        calls = [(str(m["name"]), {"s": SENTINEL}) for m in results]
        ids = [str(m["tool_call_id"]) for m in results]
        mine = {**message_of(calls, way), "tool_calls": called(calls, way, ids)}
        tools = [stub_tool(name) for name in dict.fromkeys(name for name, _ in calls)]
        first = [{"role": "system", "content": PROSE}] if system else []
        asked = [*first, {"role": "user", "content": WORDS}, *_earlier(ids[0], way), mine]
        played = self._fresh([*asked, *messages], tools, True).rpartition(SENTINEL)
        final = self._fresh(asked, tools, False).rpartition(SENTINEL)
        if not (played[1] and final[1]):
            raise TokenizerError("the chat template does not show the calls of a message")
        rest, end = played[2], self.ends.call
        if self.ends.written and end in rest:
            return rest[rest.index(end) :]
        seams = [at for mark in (end, *self._openers) if mark and (at := rest.find(mark)) >= 0]
        return rest[min(seams, default=len(self.shared(rest, final[2]))) :]


def alike(one: Sequence[Any], other: Sequence[Any]) -> int:
    """Return how long the common beginning of two sequences is."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def _earlier(first: str, way: Way) -> list[dict[str, Any]]:
    """Return a message of earlier calls and its results, if the id of the first call is a number.

    Cohere's templates and some of Kimi's number all calls of a conversation, and their results.
    """
    number = _NUMBERED.search(first)
    if number is None or not (count := int(number[1])):
        return []
    calls: list[Call] = [(TOOLS[0], {})] * count
    ids = [f"past{place:05d}" for place in range(count)]
    results = [
        {"role": "tool", "content": ANSWER, "name": TOOLS[0], "tool_call_id": own} for own in ids
    ]
    return [{**message_of(calls, way), "tool_calls": called(calls, way, ids)}, *results]


def message_of(calls: Sequence[Call], way: Way, words: str = "") -> dict[str, Any]:
    """Return the message of an assistant that says these words and makes these calls."""
    made = {"tool_calls": called(calls, way)} if calls else {}
    return {"role": "assistant", "content": words or way.content, **made}


def _keyed(render: Render) -> Callable[[str, str, bool], str]:
    def keyed(messages: str, tools: str, prompt: bool) -> str:
        return render(json.loads(messages), json.loads(tools), prompt)

    return keyed


@lru_cache(maxsize=32)
def free_template(
    source: str, marks: tuple[str, ...] = (), names: tuple[tuple[str, Any], ...] = ()
) -> ChatTemplate:
    """Return a template that is rendered without its tokenizer."""

    def render(messages: Messages, tools: Messages, prompt: bool) -> str:
        return rendered_freely(source, dict(names), messages, tools, prompt)

    return ChatTemplate(render, source, marks, dict(names))
