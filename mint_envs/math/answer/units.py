"""Units: one spelling for each, and exact factors between those of one dimension."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache
from itertools import takewhile

from .nouns import COUNTED

#: dimension -> {unit: (factor to the first, other spellings)}
_TABLE: dict[str, dict[str, tuple[str, str]]] = {
    "length": {
        "meter": ("1", "m meters metre metres 米"),
        "kilometer": ("1000", "km kilometers kilometre kilometres 千米 公里"),
        "centimeter": ("1/100", "cm centimeters centimetre centimetres 厘米"),
        "millimeter": ("1/1000", "mm millimeters millimetre millimetres 毫米"),
        "inch": ("254/10000", "in inches 英寸"),
        "foot": ("3048/10000", "ft feet 英尺"),
        "yard": ("9144/10000", "yd yards yds"),
        "mile": ("1609344/1000", "mi miles 英里"),
    },
    "mass": {
        "gram": ("1", "g grams gm gms 克"),
        "kilogram": ("1000", "kg kgs kilograms kilo kilos 千克 公斤"),
        "milligram": ("1/1000", "mg milligrams 毫克"),
        "tonne": ("1000000", "tonnes 吨"),
        "pound": ("45359237/100000", "lb lbs pounds"),
        "ounce": ("45359237/1600000", "oz ounces"),
        "ton": ("90718474/100", "tons"),
    },
    "time": {
        "second": ("1", "s sec secs seconds 秒"),
        "minute": ("60", "min mins minutes 分钟"),
        "hour": ("3600", "h hr hrs hours 小时"),
        "day": ("86400", "days 天 日"),
        "week": ("604800", "weeks 周"),
    },
    "calendar": {"month": ("1", "months 个月"), "year": ("12", "yr yrs years 年 岁")},
    "volume": {
        "liter": ("1", "l liters litre litres 升"),
        "milliliter": ("1/1000", "ml milliliters millilitre millilitres 毫升"),
    },
    "measure": {  # of two sizes, by country
        "gallon": ("1", "gal gallons"),
        "quart": ("1/4", "qt quarts"),
        "pint": ("1/8", "pt pints"),
        "cup": ("1/16", "cups"),
    },
    "money": {
        "dollar": ("1", r"$ \$ dollars usd 美元"),
        "cent": ("1/100", "cents ¢ 美分"),
        "euro": ("0", "€ euros eur"),
        "sterling": ("0", "£ gbp"),
        "yuan": ("0", "¥ rmb cny 元 块"),
        "rupee": ("0", "₹ rupees rs"),
    },
    "angle": {
        "degree": ("1", "degrees deg ° 度"),
        "radian": ("0", "radians rad rads 弧度"),
    },
    "force": {"newton": ("1", "newtons 牛顿"), "kilonewton": ("1000", "kn")},
    "energy": {"joule": ("1", "joules 焦耳"), "kilojoule": ("1000", "kj kilojoules")},
    "power": {"watt": ("1", "watts 瓦特"), "kilowatt": ("1000", "kw kilowatts")},
    "pressure": {"pascal": ("1", "pascals pa"), "kilopascal": ("1000", "kpa kilopascals")},
    "frequency": {"hertz": ("1", "hz"), "kilohertz": ("1000", "khz")},
    "tension": {"volt": ("1", "volts")},
    "temperature": {"kelvin": ("1", "kelvins")},
    "part": {"percent": ("1", "% percents pct percentage")},
}
_KNOWN: dict[str, tuple[str, str, Fraction]] = {
    spelling: (name, dimension, Fraction(factor))
    for dimension, units in _TABLE.items()
    for name, (factor, others) in units.items()
    for spelling in (name, *others.split())
}
#: Bare letters that are units only where prose says so: in mathematics they are variables.
LETTERS = frozenset("m g s h l".split())

_IGNORED = frozenset(
    "of the a an each altogether left remaining remain remains remained more exactly about overall "
    "leftover change discount profit units unit 单位 "
    "共 约 个 名 只 条 张 本 位 人 次 种".split()
)
_SPOKEN = {
    "in total": "",
    "in all": "",
    "per cent": "percent",
    "mph": "miles/hour",
    "kmh": "km/h",
    "kph": "km/h",
}
_CAPITALS = {"N": "newton", "J": "joule", "W": "watt", "V": "volt"}
_CAPITAL = re.compile(rf"(?<![A-Za-z])[{''.join(_CAPITALS)}](?![A-Za-z])")
_DERIVED = {
    "kilogram meter /second^2": "newton",
    "newton meter": "joule",
    "meter newton": "joule",
    "joule /second": "watt",
    "newton /meter^2": "pascal",
}
_SPLIT = re.compile(r"\*\*|\^|/|[A-Za-z$%°€£¥₹¢]+|[\u4e00-\u9fff]+|\d+")


_DOUBTFUL = "?"  # before the canonical spelling of words that may change the number
_OPERATIVE = frozenset(
    "minus plus over less fewer root pi factorial half halve third thirds quarter quarters percent "
    "mille not no non is isn was or and to from by if for when base mod modulo divided multiplied "
    "choose one two three four five six seven eight nine ten eleven twelve hundred thousand dozen "
    "score gross lakh crore negative sqrt log even odd unless except than between halves hundreds "
    "thousands millions dozens scores tens twos does has this gives equals makes "
    "below above under basis zero".split()
)
_HAN_OPERATIVE = re.compile("[分倍百千万亿减加乘除根]|次方|平方|立方|个半")


def is_unit(word: str) -> bool:
    """Return whether ``word`` is the spelling of a unit of measure."""
    return _find(word) is not None or word in _SPOKEN


@lru_cache(4096)
def canonical(text: str) -> str:
    """Return one spelling: ``"sq. cm"``, ``"cm^2"`` and ``"square centimeters"`` are the same.

    Nouns that are no units keep their words, without plural: ``"red marbles"`` is
    ``"red marble"``. Returns ``""`` for words that say nothing (``"in total"``).
    """
    power, words, below = 0, [], False
    text = text.replace("·", " ").replace("\\cdot", " ")
    text = _written(_CAPITAL.sub(lambda match: _CAPITALS[match.group()], text).lower())
    for word in _SPLIT.findall(text):
        if word in ("/", "per"):
            below = True
        elif word in ("square", "squared", "sq", "²", "2", "平方"):
            power = 2
        elif word in ("cubic", "cubed", "cu", "³", "3", "立方"):
            power = 3
        elif word.startswith(("平方", "立方")):
            power = 2 if word[0] == "平" else 3
            words.append(_name(word[2:], below))
        elif word not in _IGNORED and word not in ("^", "**"):
            words.append(_name(word, below))
    unit = " ".join(filter(None, words)) + (f"^{power}" if power and words else "")
    unit = _DERIVED.get(unit, unit)
    known = not unit or measures(unit) or _is_counted(_SPLIT.findall(text))
    return unit if known else _DOUBTFUL + unit


def _written(text: str) -> str:
    for spoken, written in _SPOKEN.items():
        text = text.replace(spoken, written)
    return text


def measures(unit: str) -> bool:
    """Whether ``unit`` (as ``canonical`` writes it) is one of measure, and no counted noun."""
    return _parts(unit) is not None


def is_forgiven(unit: str) -> bool:
    """Whether a number with ``unit`` is the number: a unit of measure, or something counted.

    What other words make of a number is unknown: "5 tenths", "5 minus one", "5 for even n".
    """
    return not unit.startswith(_DOUBTFUL)


def _is_counted(words: list[str]) -> bool:
    """Whether ``words`` name what is counted: "red marbles", "boxes of tea", "of the cake"."""
    words = [word for word in words if word not in ("^", "**", "the", "a", "an")]
    if (
        not words
        or any(map(_operates, words))
        or (words[:1] in (["times"], ["point"]) and len(words) > 1)
    ):
        return False
    if words[0] == "of":
        return len(words) == 2
    head = list(takewhile(lambda word: word not in ("of", "per", "/", "each", "in"), words))
    noun = head[-1] if head else ""
    return noun in COUNTED or _singular(noun) in _COUNTED or _is_plural(noun) or noun >= "\u4e00"


def _is_plural(word: str) -> bool:
    return len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is"))


def _operates(word: str) -> bool:
    ends = ("th", "ths", "ty", "teen", "llion")
    if word.isdigit() and word not in ("2", "3"):
        return True
    return word in _OPERATIVE or word.endswith(ends) or bool(_HAN_OPERATIVE.search(word))


def compatible(unit: str, other: str) -> Fraction | None:
    """Return how many of ``other`` make one ``unit``; None if they measure different things."""
    if unit == other or not unit or not other:
        return Fraction(1)
    left, right = _parts(unit), _parts(other)
    if left is None or right is None:
        return _same_noun(unit, other)
    if left[1:] != right[1:] or not left[0] or not right[0]:
        return None
    return left[0] / right[0]


def _find(word: str) -> tuple[str, str, Fraction] | None:
    return _KNOWN.get(word) or _KNOWN.get(word.lower().rstrip("."))


def _name(word: str, below: bool) -> str:
    found = _find(word)
    name = found[0] if found else _singular(word)
    return f"/{name}" if below else name


def _singular(word: str) -> str:
    if word.isascii() and len(word) > 3 and word.endswith("s") and not word.endswith("ss"):
        return word[:-1]
    return word


def _parts(unit: str) -> tuple[Fraction, tuple[str, ...], str] | None:
    """Return (factor, dimensions, power); None if a word is no unit."""
    body, _, power = unit.partition("^")
    factor, dimensions = Fraction(1), []
    for word in body.split():
        found = _find(word.lstrip("/"))
        if found is None:
            return None
        factor = factor / found[2] if word[0] == "/" and found[2] else factor * found[2]
        dimensions.append(word[0] + found[1] if word[0] == "/" else found[1])
    return factor ** int(power or 1), tuple(dimensions), power


def _same_noun(unit: str, other: str) -> Fraction | None:
    if not (is_forgiven(unit) and is_forgiven(other)):
        return None
    shared = set(unit.split()) & set(other.split())
    return Fraction(1) if shared else None


_COUNTED = frozenset(map(_singular, COUNTED))
