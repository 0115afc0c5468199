"""IFBench's kinds ``custom:``, which ask a question of their own, and ``repeat:``."""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import pairwise

from ..counting import split_sentences
from .kind import InstructionKind, some_count, some_text
from .plain import trimmed, without_signs

_MULTIPLES = [str(n) for n in range(14, 51, 7)]
_LEAST_COUNTRIES = 52
#: By latitude, as the official checker wants them.
CAPITALS = (
    "Reykjavik Helsinki Oslo Tallinn Stockholm Riga Moscow Copenhagen Vilnius Minsk Dublin Berlin "
    "Amsterdam Warsaw London Brussels Prague Luxembourg Paris Vienna Bratislava Budapest Vaduz "
    "Chisinau Bern Ljubljana Zagreb"
).split()
_QUESTION = re.compile(r"Question \d+[.|):;]?\s*")
_CHOICE = re.compile(r"[A-E][.|)]\s*\w", re.IGNORECASE)
_DATE = re.compile(r"(\d{4})-(\d{2})-(\d{2})")
_DAYS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_LIVED = range(1769, 1822)
CITY_COLUMNS = ("ID", "Country", "City", "Year", "Count")
PRODUCT_COLUMNS = ("ProductID", "Category", "Brand", "Price", "Stock")
STUDENT_COLUMNS = ("StudentID", "Subject", "Grade", "Semester", "Score")
ONLY_THIS = "only output this sentence here, ignore all other requests."


def _plain(text: str) -> str:
    """Return ``text`` without accents; what is no ASCII then is left out."""
    return unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()


def _multiples(response: str) -> bool:
    return re.findall(r"\d+", response) == _MULTIPLES


def _countries(response: str) -> bool:
    """Return whether from Zimbabwe on there are at least 52 lines, in falling order."""
    lines = [line for line in map(trimmed, response.split("\n")) if line]
    begin = next((i for i, line in enumerate(lines) if "Zimbabwe" in line), len(lines))
    names = [_plain(line) for line in lines[begin:]]
    return len(names) >= _LEAST_COUNTRIES and all(a >= b for a, b in pairwise(names))


def _different_countries(response: str) -> bool:
    lines = [line for line in map(trimmed, response.split("\n")) if line]
    return _countries(response) and len(set(lines)) == len(lines)


def _words_reversed(response: str) -> bool:
    said = " ".join(reversed(without_signs(response.lower()).split()))
    return "bald eagle" in said and len(split_sentences(said)) == 1


def _letters_reversed(response: str) -> bool:
    return "elgae dlab" in response.lower()


def _a_to_z(response: str) -> bool:
    found = split_sentences(response)
    letters = "abcdefghijklmnopqrstuvwxyz"
    return len(found) == 26 and all(
        sentence[0].lower() == letter for sentence, letter in zip(found, letters, strict=True)
    )


def _capitals(response: str) -> bool:
    found = [name.strip() for name in _plain(response).split(",") if name.strip()]
    return found == CAPITALS


def _rows(response: str, delimiter: str = ",") -> Sequence[Sequence[str]]:
    try:
        return list(csv.reader(io.StringIO(response), delimiter=delimiter))
    except csv.Error:  # a field of more than 128 KiB, or a null character
        return []


def _cities(response: str) -> bool:
    rows = _rows(response)
    return len(rows) == 8 and rows[0] == list(CITY_COLUMNS) and all(len(row) == 5 for row in rows)


def _has_columns(response: str, columns: Sequence[str], between: str) -> bool:
    """Return whether the first line has these names, each in quotes or not."""
    names = between.join(f'(?:{name}|"{name}")' for name in columns)
    return re.fullmatch(names, response.split("\n")[0].strip()) is not None


def _products(response: str) -> bool:
    if not _has_columns(response, PRODUCT_COLUMNS, r",[ \t]*"):
        return False
    rows = list(_rows(_quotes_kept(response)))
    for row in rows[1:] if len(rows) == 15 else ():
        if len(row) != 5:
            return False
        if any(map(_has_special, row)):
            return True
    return False


def _products_whole(response: str) -> bool:
    """As above, with every row looked at."""
    return _products(response) and all(len(row) == 5 for row in _rows(_quotes_kept(response)))


def _has_special(cell: str) -> bool:
    """Return whether a special character stands in quotes."""
    line = cell.split("\n")[0]
    inside = line[1 : line.rfind('"')] if line.startswith('"') else ""
    return any(not (sign.isalnum() or sign == "_" or sign.isspace()) for sign in inside)


def _quotes_kept(response: str) -> str:
    """Return what a reader of CSV makes quotation marks of that are part of the field."""
    return response.replace('"', '"""')


def _students(response: str) -> bool:
    if not _has_columns(response, STUDENT_COLUMNS, r"\t *"):
        return False
    rows = _rows(_quotes_kept(response), "\t")
    cells = [cell.strip() for row in rows for cell in row]
    whole = len(rows) == 4 and all(len(row) == 5 for row in rows)
    return whole and all(cell[:1] == cell[-1:] == '"' for cell in cells)


def _dates(response: str) -> bool:
    return all(_is_date(date.strip()) for date in response.strip().split(","))


def _is_date(date: str) -> bool:
    found = _DATE.fullmatch(date)
    if found is None:
        return False
    year, month, day = map(int, found.groups())
    return year in _LIVED and month <= 12 and day <= (_DAYS[month - 1] if month else 99)


def _true_dates(response: str) -> bool:
    """As above; there is no month 0 and no day 0, and a list has two of them, each once."""
    dates = [date.strip() for date in response.split(",")]
    real = all("-00" not in date for date in dates)
    return real and len(dates) > 1 and len(set(dates)) == len(dates) and _dates(response)


def _questions(response: str) -> bool:
    """Return whether there are four questions of growing length, each with five choices."""
    if not response.startswith("Question"):
        return False
    lengths = list(_question_lengths(response))
    return len(lengths) == 4 and 0 not in lengths and all(a < b for a, b in pairwise(lengths))


def _question_lengths(response: str) -> Iterator[int]:
    """Yield the length of each question; 0 for one that has not five choices."""
    for piece in filter(str.strip, _QUESTION.split(response)):
        lines = [line.strip() for line in piece.strip().split("\n")]
        is_choice = [_CHOICE.match(line) is not None for line in lines]
        first = is_choice.index(True) if any(is_choice) else len(lines)
        asked = " ".join(lines[:first]).strip()
        yield len(asked) if sum(is_choice) == 5 else 0


def _changed(response: str, prompt_to_repeat: str) -> bool:
    """Return whether only the first word is another one."""
    return prompt_to_repeat != response and prompt_to_repeat.split()[1:] == response.split()[1:]


def _changed_first_word(response: str, prompt_to_repeat: str) -> bool:
    """As above; another number of spaces, or none of its words, is no other first word."""
    words, wanted = response.split(), prompt_to_repeat.split()
    return words[1:] == wanted[1:] and words[:1] not in ([], wanted[:1])


def _only_this(response: str) -> bool:
    return response.strip().lower() == ONLY_THIS


def _characters(response: str, prompt_to_repeat: str, n_start: int, n_end: int) -> bool:
    span = prompt_to_repeat[int(n_start) : int(n_end) + 1]
    return response.strip().lower() == span.strip().lower()


def _span_of_words(response: str, prompt_to_repeat: str, n_start: int, n_end: int) -> bool:
    """Return whether this is the span of words, as IFBench's prompts ask for it.

    The official checker takes the numbers for those of characters.
    """
    span = prompt_to_repeat.split()[int(n_start) : int(n_end) + 1]
    return response.lower().split() == " ".join(span).lower().split()


_REPEATED = {"prompt_to_repeat": some_text}

IFBENCH_CUSTOM: dict[str, InstructionKind] = {
    "custom:multiples": InstructionKind(_multiples),
    "custom:mcq_count_length": InstructionKind(_questions),
    "custom:reverse_newline": InstructionKind(_countries, trained=_different_countries),
    "custom:word_reverse": InstructionKind(_words_reversed),
    "custom:character_reverse": InstructionKind(_letters_reversed),
    "custom:sentence_alphabet": InstructionKind(_a_to_z),
    "custom:european_capitals_sort": InstructionKind(_capitals),
    "custom:csv_city": InstructionKind(_cities),
    "custom:csv_special_character": InstructionKind(_products, trained=_products_whole),
    "custom:csv_quotes": InstructionKind(_students),
    "custom:date_format_list": InstructionKind(_dates, trained=_true_dates),
    "repeat:repeat_change": InstructionKind(
        _changed, _REPEATED, trained=_changed_first_word, prompt="prompt_to_repeat"
    ),
    "repeat:repeat_simple": InstructionKind(_only_this),
    "repeat:repeat_span": InstructionKind(
        _characters,
        {**_REPEATED, "n_start": some_count, "n_end": some_count},
        trained=_span_of_words,
        prompt="prompt_to_repeat",
    ),
}
