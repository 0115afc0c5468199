"""Makers of IFBench's kinds ``custom:``, each a question of its own, and ``repeat:``."""

from __future__ import annotations

import re

from ..kinds.ifbench_custom import (
    CAPITALS,
    CITY_COLUMNS,
    ONLY_THIS,
    PRODUCT_COLUMNS,
    STUDENT_COLUMNS,
)
from .maker import Drawn, Maker, Scene, adds, swaps, upper_first

_COUNTRIES = sorted(
    "Algeria|Angola|Benin|Botswana|Burkina Faso|Burundi|Cabo Verde|Cameroon"
    "|Central African Republic|Chad|Comoros|Congo|Democratic Republic of the Congo"
    "|Djibouti|Egypt|Equatorial Guinea|Eritrea"
    "|Eswatini|Ethiopia|Gabon|Gambia|Ghana|Guinea|Guinea-Bissau|Ivory Coast|Kenya|Lesotho|Liberia"
    "|Libya|Madagascar|Malawi|Mali|Mauritania|Mauritius|Morocco|Mozambique|Namibia|Niger|Nigeria"
    "|Rwanda|Sao Tome and Principe|Senegal|Seychelles|Sierra Leone|Somalia|South Africa"
    "|South Sudan|Sudan|Tanzania|Togo|Tunisia|Uganda|Zambia|Zimbabwe".split("|"),
    reverse=True,
)
_EAGLE = "The bald eagle is the animal that stands for the United States"
_A_TO_Z = (
    "Anna Ben Clara David Emma Fred Grace Henry Iris Jack Kate Liam Mia Noah Olga Paul Quinn Rosa "
    "Sam Tina Uma Victor Wanda Xenia Yuri Zoe"
).split()
_DEEDS = ("came home", "sat down", "sang a song", "read a book", "laughed out loud", "fell asleep")
_DATES = "1796-04-12 1798-07-21 1800-06-14 1805-12-02 1806-10-14 1809-07-05 1812-09-07 1815-06-18"
_CITIES = (
    "France,Paris Japan,Tokyo Kenya,Nairobi Peru,Lima Italy,Rome Cuba,Havana Ghana,Accra".split()
)
_ASKED = (
    "Who painted Guernica?",
    "Which movement did Salvador Dali belong to?",
    "In which city did the movement called Dada begin in the year 1916?",
    "Which painter of the New York School is known for canvases on which paint was dripped?",
)


def _shorter(scene: Scene, given: Drawn, text: str) -> str:
    """Leave out the last line."""
    return text.rpartition("\n")[0]


def _questions(scene: Scene, given: Drawn) -> str:
    choices = "\n".join(f"{letter}) choice {scene.number(1, 99)}" for letter in "ABCDE")
    return "\n\n".join(f"Question {i}: {one}\n{choices}" for i, one in enumerate(_ASKED, 1))


def _backwards(scene: Scene, given: Drawn) -> str:
    return " ".join(reversed(_EAGLE.split()))


def _story(scene: Scene, given: Drawn) -> str:
    return " ".join(f"{name} {scene.pick(_DEEDS)}." for name in _A_TO_Z)


def _cities(scene: Scene, given: Drawn) -> str:
    rows = [f"{i},{place},{scene.number(1950, 2020)},{scene.number(1, 999)}"
            for i, place in enumerate(_CITIES, 1)]  # fmt: skip
    return "\n".join([",".join(CITY_COLUMNS), *rows])


def _products(scene: Scene, given: Drawn) -> str:
    rows = [f"{i},Toys,Acme,{scene.number(1, 99)},{scene.number(1, 99)}" for i in range(1, 14)]
    place = scene.number(0, 13)
    rows.insert(place, '14,Toys,"Smith & Sons",8,9')
    return "\n".join([",".join(PRODUCT_COLUMNS), *rows])


def _students(scene: Scene, given: Drawn) -> str:
    rows = [("S1", "Maths", "A", "1", str(scene.number(50, 99))), ("S2", "Art", "B", "2", "80"),
            ("S3", "Music", "A", "1", "91")]  # fmt: skip
    return "\n".join("\t".join(f'"{cell}"' for cell in row) for row in (STUDENT_COLUMNS, *rows))


def _dates(scene: Scene, given: Drawn) -> str:
    return ", ".join(_DATES.split()[: scene.number(2, 8)])


def _draw_repeated(scene: Scene) -> Drawn:
    return {"prompt_to_repeat": scene.request}


def _other_first(scene: Scene, given: Drawn) -> str:
    first = scene.pick(("Please", "Kindly", "Now"))
    return " ".join([first, *given["prompt_to_repeat"].split()[1:]])


def draw_span(scene: Scene) -> Drawn:
    """Draw a span of words; as characters it is one as well."""
    begin = scene.number(0, 2)
    last = len(scene.request.split()) - 1
    return {
        "prompt_to_repeat": scene.request,
        "n_start": begin,
        "n_end": scene.number(begin + 1, last),
    }


def _span(scene: Scene, given: Drawn) -> str:
    return " ".join(given["prompt_to_repeat"].split()[given["n_start"] : given["n_end"] + 1])


QUESTIONS: dict[str, Maker] = {
    "custom:multiples": Maker(
        ("Count from 10 to 50 but print only the multiples of 7.",),
        lambda scene, given: scene.pick((", ", " ", "\n")).join(map(str, range(14, 51, 7))),
        lambda scene, given, text: text.replace(scene.pick(("14", "49")), "27"), form="fixed"),
    "custom:mcq_count_length": Maker(
        ('Write 4 multiple choice questions on the history of art in the 20th century, each with 5 '
         'choices, A) to E), on lines of their own. Begin each with "Question" and its number. '
         "Each must be longer than the one before. Explain nothing.",),
        _questions, _shorter, form="fixed"),
    "custom:reverse_newline": Maker(
        ("List the countries of Africa, each on a new line, from Z to A.",),
        lambda scene, given: "\n".join(_COUNTRIES), swaps("Uganda\n", "Algeria\n"), form="fixed"),
    "custom:word_reverse": Maker(
        ("Which animal is the national symbol of the US? Answer in a sentence whose words are in "
         "reverse order.",),
        _backwards, lambda scene, given, text: _EAGLE, form="fixed"),
    "custom:character_reverse": Maker(
        ("Which animal is the national symbol of the US? Answer in a sentence whose letters are in "
         "reverse order.",),
        lambda scene, given: _EAGLE[::-1], lambda scene, given, text: _EAGLE, form="fixed"),
    "custom:sentence_alphabet": Maker(
        ("Tell a story of 26 sentences that begin with the letters of the alphabet, in order.",),
        _story, lambda scene, given, text: re.sub(" Zoe.*", "", text), form="fixed"),
    "custom:european_capitals_sort": Maker(
        ("Name the capitals of Europe north of 45 degrees, without their countries, divided by "
         "commas, from north to south.",),
        lambda scene, given: ", ".join(CAPITALS), swaps("Oslo, ", ""), form="fixed"),
    "custom:csv_city": Maker(
        (f"Write CSV with the columns {', '.join(CITY_COLUMNS)}, divided by commas, and 7 rows.",),
        _cities, _shorter, form="fixed"),
    "custom:csv_special_character": Maker(
        (f"Write CSV with the columns {', '.join(PRODUCT_COLUMNS)}, divided by commas, 14 rows. "
         "One field must have a special character and stand in double quotes.",),
        _products, swaps("&", "and"), form="fixed"),
    "custom:csv_quotes": Maker(
        (f"Write CSV with the columns {', '.join(STUDENT_COLUMNS)}, divided by tabs, and 3 rows, "
         "with every field in double quotes.",),
        _students, swaps('"Maths"', "Maths"), form="fixed"),
    "custom:date_format_list": Maker(
        ("List the first days of battles that Napoleon fought, divided by commas, in the form "
         "YYYY-MM-DD, and nothing else.",),
        _dates, adds(", 18 June 1815"), form="fixed"),
    "repeat:repeat_change": Maker(
        ('Repeat this request with another first word; do not answer it: "{prompt_to_repeat}"',),
        _other_first, lambda scene, given, text: str(given["prompt_to_repeat"]), _draw_repeated,
        "fixed"),
    "repeat:repeat_simple": Maker(
        (upper_first(ONLY_THIS),), lambda scene, given: upper_first(ONLY_THIS), adds(" Done."),
        form="fixed"),
    "repeat:repeat_span": Maker(
        ('Copy the words from number {n_start} to number {n_end} of this text, the first being '
         'number 0: "{prompt_to_repeat}"',),
        _span, adds(" it"), draw_span, "fixed"),
}  # fmt: skip
