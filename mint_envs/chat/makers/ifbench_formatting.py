"""Makers of IFBench's kinds ``format:``."""

from __future__ import annotations

from .maker import Drawn, Maker, Scene, adds, lower_first, swaps

_SIGNS = ("\U0001f600", "\U0001f31f", "\U0001f44d", "\u2764\ufe0f", "\U0001f389")
_OPTIONS = ("yes/no/maybe", "often or seldom", "very much, a little, not at all")


def _nested(scene: Scene, given: Drawn) -> str:
    one, two, three = scene.some(3)
    inner = "(it [really {truly (as I see it [and know]) so}] is)"
    return f"{one} {two[:-1]} {inner}. {three}"


def _quoted(scene: Scene, given: Drawn) -> str:
    one, two = scene.some(2)
    return (
        f'{one} She said "I heard \'they told me "{lower_first(two[:-1])}" and left\' today" to me.'
    )


def _one_option(scene: Scene, given: Drawn) -> str:
    sign = "/" if "/" in given["options"] else " or " if " or " in given["options"] else ", "
    return str(scene.pick(given["options"].split(sign)))


def _with_emoji(scene: Scene, given: Drawn) -> str:
    return " ".join(f"{one[:-1]} {scene.pick(_SIGNS)}." for one in scene.some(3))


def _without_one(scene: Scene, given: Drawn, text: str) -> str:
    sign = next(one for one in text if one in "".join(_SIGNS))
    return text.replace(sign, "so", 1).replace("\ufe0f", "")


def _stairs(scene: Scene, given: Drawn) -> str:
    step = scene.number(1, 4)
    return "\n".join(" " * step * i + one for i, one in enumerate(scene.some(scene.number(2, 4))))


def _listed(scene: Scene, given: Drawn) -> str:
    return "\n".join(f"{given['sep']} {one}" for one in scene.some(scene.number(2, 4)))


def _sub_bullets(scene: Scene, given: Drawn) -> str:
    one, two, three, four = scene.some(4)
    return f"* {one}\n  - {two}\n* {three}\n  - {four}"


def _bullets_after(scene: Scene, given: Drawn) -> str:
    one, two, three, four = scene.some(4)
    return f"{one} {two}\n* {three}\n* {four}"


def _titled(scene: Scene, given: Drawn) -> str:
    return " ".join(word[:1].upper() + word[1:] for word in scene.say(2).split())


def _one_small(scene: Scene, given: Drawn, text: str) -> str:
    words = text.split()
    place = scene.number(0, len(words) - 1)
    words[place] = words[place].lower()
    return " ".join(words)


def _template(scene: Scene, given: Drawn) -> str:
    one, two, three = scene.some(3)
    return f"My Answer: {one}\nMy Conclusion: {two}\nFuture Outlook: {three}"


def _explained(scene: Scene, given: Drawn) -> str:
    one, two = scene.some(2)
    return f'They say "{lower_first(one[:-1])}" and that means a lot. {two}'


def _thesis(scene: Scene, given: Drawn) -> str:
    one, two, three = scene.some(3)
    return f"<i>{one}</i>\n{two} {three}"


FORMATTING: dict[str, Maker] = {
    "format:parentheses": Maker(
        ("Nest brackets at least five levels deep: (a [b {{c (d [e])}}]).",), _nested,
        lambda scene, given, text: text.replace("[and know]", "and know")),
    "format:quotes": Maker(
        ("Include quotes within quotes within quotes, with double and single quotation marks in "
         "turns.",),
        _quoted, lambda scene, given, text: text.replace("'they", "they").replace("left'", "left")),
    "format:options": Maker(
        ("Do you like {topic}? Answer with one of these options and nothing else: {options}",),
        _one_option, adds(", I think"), lambda scene: {"options": scene.pick(_OPTIONS)}, "fixed"),
    "format:newline": Maker(
        ("Write each word on a new line.",),
        lambda scene, given: "\n".join(scene.say(2).split()),
        lambda scene, given, text: text.replace("\n", " ", 1)),
    "format:emoji": Maker(
        ("Put an emoji at the end of every sentence.",), _with_emoji, _without_one),
    "format:line_indent": Maker(
        ("Write several lines, each indented further than the one before.",), _stairs,
        adds("\nThat is all.")),
    "format:quote_unquote": Maker(
        ("Every quotation must be followed by words of your own that explain it.",),
        _explained,
        adds(' They say "all is well"')),
    "format:list": Maker(
        ('Answer with a list. Begin each item, on a line of its own, with "{sep}".',), _listed,
        lambda scene, given, text: text.replace(f"\n{given['sep']}", "\n+"),
        lambda scene: {"sep": scene.pick(("...", "SEPARATOR", "!?!?", "-"))}),
    "format:thesis": Maker(
        ("Begin with a thesis in italics, in HTML, and go on from there.",),
        _thesis,
        lambda scene, given, text: text.replace(scene.pick(("<i>", "</i>")), "")),
    "format:sub-bullets": Maker(
        ("Write bullet points with *, and below each at least one line with -.",), _sub_bullets,
        adds("\n* And so on.")),
    "format:no_bullets_bullets": Maker(
        ("Write at least two sentences that end in a full stop, then at least two bullet points "
         "with *, and nothing after them.",),
        _bullets_after, adds("\nThat is all.")),
    "format:title_case": Maker(
        ("Begin every word with a capital letter.",), _titled, _one_small),
    "format:output_template": Maker(
        ("Use exactly this form: My Answer: [answer] My Conclusion: [conclusion] Future Outlook: "
         "[outlook]",),
        _template, swaps("My Conclusion:", "To conclude:")),
    "format:no_whitespace": Maker(
        ("Use no white space at all; put hyphens between words.",),
        lambda scene, given: "-".join(scene.say(2).split()), adds(" ok"), form="words"),
}  # fmt: skip
