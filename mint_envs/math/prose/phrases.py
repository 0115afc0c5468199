"""The patterns by which sentences are read: words, signs and formulas.

Each works in linear time on the texts it is given (a sentence is cut to ``LONGEST`` characters).
The lists of words are heuristics: they came from responses of models, and more will.
"""

from __future__ import annotations

import re

from .hinted import hinted

MATH = re.compile(
    r"\$\$(?P<a>.{1,600}?)\$\$|\\\[(?P<b>.{1,600}?)\\\]|\\\((?P<c>.{1,400}?)\\\)"
    r"|(?<![\\\d])\$(?P<d>(?!\s*[\d,.]+(?:\s|$)[^$]*[a-z]{3})[^$\n]{1,400}?)(?<!\\)\$(?!\d)",
    re.DOTALL,
)
NUMBER = re.compile(
    r"(?<![A-Za-z\d.\\^_{])(?:\d+(?:\s?:\s?\d+)+(?:\s?[ap]\.?m\b\.?)?|\d+\sto\s\d+"
    r"|(?:[-−–+]\s?(?=[$€£¥.\d]))?(?:\\?\$|€|£|¥)?\s?(?:\d[\d,]*(?:\.\d+)?|\.\d+)"
    r"(?:\s?/\s?\d+|\s\d+/\d+|\s?[½¼¾⅓⅔⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞])?(?:\s?\\?%|\s?°)?)(?![A-Za-z]*\d|[π√^])"
)
SENTENCE_END = re.compile(
    r"(?<![.])(?<!\bi)(?<!\be)(?<!i\.e)(?<!e\.g)(?<!approx)(?:[.?]|!(?!(?<=[\dA-Za-z)]!)(?:[)\]]|\s?[-*/+=×·÷])))(?!\.)(?=[\s*\"')\]]|$)|[。！？।]|\n"
)
COPULA = re.compile(
    r"(?=[^\s\d])"  # nothing is tried where none can begin
    r"(?:(?<!\bto )\b(?:is|are|was|were|be|equals?|totals?|gives?|gets?|makes?|has|have|had|"
    r"leaves?|costs?|takes?|"
    r"becomes?|yields?|earns?|needs?|spends?|pays?|paid|saves?|sold|sells?|received?|contains?|"
    r"left with)\b"
    r"(?:\s+(?:exactly|only|just|about|approximately|equal to|a total of|now|also|therefore|thus|"
    r"then|at|to be|(?:an?|the) \w+ of))*"
    r"|=|\b(?:total|answer|remainder|sum|value|result) of\b"
    r"|\b(?:simplif\w+|reduces?|evaluates?|rounds?|adds? up|comes?|factor\w*) to\b(?: \w+ \w+ of)?"
    r"|\b(?:factor\w*|simplified|written|rewritten) (?:as|into)\b"
    r"|\bto (?:get|obtain)\b(?=\s*(?:\$|\\\()[^$]*\$?\W*$)"
    r"|是|为|等于|得到|共有?|需要?|有)",
    re.IGNORECASE,
)
CONNECTIVE = re.compile(
    r"\b(?:so|therefore|thus|hence|consequently|giving|making|meaning|leaving|which gives|which is|"
    r"we get|we have|we find|in total)\b,?|(?<=[a-z]):\s+|所以|因此|故|[,;]\s+|[，；]\s*",
    re.IGNORECASE,
)
THEREFORE = re.compile(
    r"\b(?:so|therefore|thus|hence|altogether|in total|making|giving)\b|所以|因此|故", re.IGNORECASE
)
NAMED = re.compile(  # x = 3, y = 4 and z = 5
    r"(?<![A-Za-z])[A-Za-z]\s?=\s?[^,;=\s]+(?:(?:,?\s(?:and\s)?|,)[A-Za-z]\s?=\s?[^,;=\s]+)+(?=\W*$)"
)
REASON = re.compile(
    r"(?<!factors)(?<!factored)(?<!written)(?<!expressed)(?<!simplified)(?<!rewrites)(?<!factorizes)"
    r"(?<!factorises)(?<!factorized)(?<!known)"
    r"[,;]?\s++(?:because|since|as|which|who|so(?![^.\n]{0,200}[\d√π\\])|where|given|when|"
    r"after(?![^.\n]{0,200}\b(?:is|are|was|were|equals)\b)|"
    r"whenever|but|per the|by the|"
    r"based on|due to|or so|not|rather than|instead of)\b.*"
    r"|\s++\((?=[A-Za-z]{2,}|≈|π|about).*|[，,](?:因为|由于).*",
    re.DOTALL,
)
SUBORDINATE = re.compile(
    r"[,;]\s*+(?:(?:where|when|attained|achieved|occurring|reached|with equality|for all)\b"
    r"|(?:at|for|if|with)\s++[$\\(]*[a-z]\s*+[=<>≤≥\\]).*"
    r"|,?\s(?:not|rather than|instead of)\s(?=\S+[.!]?$).*"
    r"|\s++\((?=[A-Za-z]{2,}|≈|π|about).*|[，,]\s*+(?:此时|其中|当).*",
    re.DOTALL,
)
DENIED = hinted(  # and the value that is denied, or only computed with
    r"(?:\b(?:half|twice|double|triple|thrice|below|above|under)(?: of)?"
    r"|\b(?:square|cube|root|reciprocal|inverse|factorial|logarithm|percent|multiple) of"
    r"|\bnot|n't|\b(?:greater|less|more|fewer|larger|smaller|bigger) than|\bat (?:least|most)"
    r"|\bbetween|\bcannot|不是|不等于|至少|至多|大于|小于)\s*(?:be|equal to|equal)?\s*"
    r"[-−$\\(]*[\d.√][\d.,]*(?:\s?and\s[$\d.,]+)?",
    "half, twice, double, triple, thrice, below, above, under, square, cube, root, reciprocal, "
    "inverse, factorial, logarithm, percent, multiple, not, n't, than, at least, at most, between, "
    "不是, 不等于, 至少, 至多, 大于, 小于",
)
NOT = re.compile(r"\bnot\b|n't\b|\b(?:neither|cannot)\b", re.IGNORECASE)
WORD = re.compile(r"[A-Za-z]{2,}")
HAN = re.compile(r"[\u4e00-\u9fff]")
COMMAND = re.compile(r"\\[A-Za-z]+(?:\{[A-Za-z0-9 ]*\})?")
END = r"((?:\\[A-Za-z]+|[^=A-Za-z\\<>]|\\[^A-Za-z])+)"  # of a formula, without variables
CHAIN = re.compile(rf"(?:[^=<>]+=){{2,}}{END}")
WORKED = re.compile(rf"[^=<>]\s*+[^=<>\s][^=<>]++=\s*+{END}")
EQUATION = hinted(
    r"\b(?:equation|line|circle|curve|plane|parabola|relation|form)\b|方程",
    "equation, line, circle, curve, plane, parabola, relation, form, 方程",
)
LEAD = re.compile(
    r"(?:(?:therefore|thus|so|hence|simply|just|now|that|option|choice|likely|definitely|"
    r"approximately|about|exactly|equal to|given by|indeed|finally|consequently)\b[\s,:]*"
    r"|[:：=*_#\s≈~>∴](?!\.\d)|-(?![\d.$\\(]))+",
    re.IGNORECASE,
)
MORE = re.compile(r"\s*+(?:,|and|or|和|或|;)\s*+(?:and|or)?\s*+(?=[-$\\\d(])")
LIST = re.compile(r"\s*+(?:,\s*+(?:and|or)?|and|or|和|或|、)\s*+")
TAIL = re.compile(
    r"\s*+(?:\\?%|°|(?:percent|degrees?)\b|[A-Za-z]{1,12}(?:/[a-z]+|\^?[23²³])?(?=[.,;!?]?\s*$)"
    r"|[\u4e00-\u9fff]{1,4}(?=[。，]?\s*$))"
)
SPELLED = "zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|pi"
OPERATING = re.compile(  # words after a number that make another number of it
    r"(?:hundred|thousand|million|billion|trillion|dozen|lakh|crore|gross"
    r"|squared|cubed|factorial|pi|halves|thirds?"
    r"|(?:four|fif|six|seven|eigh|nin|ten|eleven|twelf|hundred|thousand|million)ths"
    r"|per ?mille|and an? (?:half|third|quarter|fourth)|to the (?:power|\w{2,8}th)\b"
    r"|(?:times|over|plus|minus|root|choose|mod|modulo|(?:divided|multiplied) by|point)"
    rf"\s(?:\$?\\?\w{{0,8}}\d+\$?|{SPELLED}))(?![A-Za-z])",
    re.IGNORECASE,
)
BESIDE = re.compile(
    r"\b(?:to|for|in|of|over|per|from|after|with|by|at|on|within|during|every|each|the|than|when"
    r"|à|dans|pour|après|pendant)\b|\bd['’]ici\b|/"
)
ENUMERATOR = re.compile(
    r"^\s*+[-*•]*\s*+(?:\d{1,2}[.)](?=\s)|\*{0,2}step\s+\d+\W{0,4})\s*", re.IGNORECASE
)
VERDICT_WORD = re.compile(
    r"(?:yes|no|true|false|even|odd|neither|both|none|impossible|infinite|convergent|divergent|"
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)day|[A-Z][a-z]+)",
)
ALIGNED = re.compile(
    r"=\s*+([^=&]{1,200}?)[.,\s]*\\end\{(?:align|aligned|gather|split|eqnarray)\*?\}\s*(?:\\\]|\$\$)?\W*$"
)
ASIDE = re.compile(
    r"^\W*(?:check|verif|note|alternatively|"
    r"(?:we|one) (?:can|could|may|might)(?: \w+)? (?:check|verify)|"
    r"for (?:reference|comparison|context|completeness)|"
    r"let me know|hope|double-check|i hope|feel free|验证|检验|注)",
    re.IGNORECASE,
)
LABEL = re.compile(r"[A-Za-z\u4e00-\u9fff][A-Za-z\u4e00-\u9fff' ]{2,}\s*[=:：]")
LONGEST = 1_000  # characters of a sentence that are looked at: its end
SYMBOL = re.compile(r"[\\^√≈π²³]")
# Each character fits one alternative only, so that a failure is found in linear time.
SIGN = r"\\[A-Za-z]++|\\[^A-Za-z]|(?<![A-Za-z])[A-Za-z](?![A-Za-z])|[^A-Za-z\\\u4e00-\u9fff]"
EXPRESSION = re.compile(rf"(?<!\S)(?:{SIGN})++$")
EXPRESSION_FIRST = re.compile(rf"(?:{SIGN})++")
CLOSED = re.compile(rf"{MATH.pattern}|\([^()]{{1,80}}\)|\[[^][]{{1,80}}\]", re.DOTALL)
VALUE = re.compile(rf"{MATH.pattern}|{NUMBER.pattern}", re.DOTALL)
GLUED = frozenset("and or sin cos tan log ln sqrt pi cm km kg mph".split())
SUM = re.compile(r"\s*-?[\d.,]+(?:\s*[-+*×·/÷−]\s*-?[\d.,]+)+\s*")
