"""Answers that the last sentence states, and announcements in other languages."""

from __future__ import annotations

import pytest

from mint_envs.math import grade

pytestmark = pytest.mark.quick

STATED = [
    ("\\text{even}", "Therefore, the function is an even function."),
    ("\\text{even}", "Therefore, $f(f(x))$ is an even function."),
    ("6", "so $5x=30$ and $x=6$."),
    ("28", "So it is C(8, 2) = 8! / [2!(8-2)!] = (8*7) / (2*1) = 28."),
    ("2", "So there are two solutions, which means the graph has two $y$-intercepts."),
    ("6", "So the number is 4!/(2! * 2!) = 24/4 = 6."),
    ("\\text{east}", "Therefore, the walker is facing East."),
    ("\\text{east}", "The remainder is 90 degrees. Therefore, the walker is facing East."),
    ("6", "Multiplying by $6$ gives $3x+2x=30$, so $5x=30$ and $x=6$."),
    (
        "\\begin{pmatrix}4\\\\6\\end{pmatrix}",
        r"$\|a\|v = 2\begin{pmatrix}2\\3\end{pmatrix} = \begin{pmatrix}4\\6\end{pmatrix}$.",
    ),
    ("(x+3)(y+4)", "So, $xy+3y+4x+12$ factors to $(x+3)(y+4)$."),
    ("x^3+3x-6", "Finally, combine like terms: $x^3 + x^2 - x^2 + 3x - 6 = x^3 + 3x - 6$."),
    ("5r^5", "Divide and subtract the exponents to get $5r^5$."),
    ("6", "So there are 4!/(2! * 2!) = 24/4 = 6 ways, that is 4!/(2! * 2!) = 24/4 = 6."),
    ("3", "The set contains 3 elements. These are 3, 5, and 7."),
    (
        "\\begin{pmatrix}3\\\\5\\end{pmatrix}",
        "So $\\binom12+\\begin{pmatrix}2\\\\3\\end{pmatrix}=\\begin{pmatrix}3\\\\5\\end{pmatrix}$.",
    ),
    ("(x-1)(x+2)", "The polynomial $x^2+x-2$ can be factored as $(x-1)(x+2)$."),
    ("7x", "The expression simplifies to $7x$."),
    ("12", "we obtain $3 \\cdot 4 = 12$"),
    ("x=2", "This gives $2x=4$, and therefore $x=2$."),
    ("10", "There are C(5,2) = 5!/(2!3!) = 10 ways."),
    ("42", "उत्तर: 42"),
    ("42", "इसलिए उत्तर 42 है।"),
    ("42", "الإجابة: 42"),
    ("42", "الجواب هو 42"),
    ("42", "答えは42です。"),
    ("42", "답: 42"),
    ("42", "정답은 42입니다."),
    ("42", "Ответ: 42"),
    ("42", "Đáp án: 42"),
    ("42", "Vậy đáp án là 42."),
    ("42", "La réponse est 42."),
    ("42", "Réponse : 42"),
    ("42", "A resposta é 42."),
    ("42", "Resposta: 42"),
    ("42", "Respuesta final: 42"),
    ("42", "La respuesta es 42."),
    ("42", "Die Antwort ist 42."),
    ("42", "Antwort: 42"),
    ("42", "したがって、42である。"),
    ("42", "따라서 42이다."),
    ("42", "Таким образом, получаем 42."),
    ("42", "Donc il y a 42 pommes."),
    ("42", "Portanto, são 42 maçãs."),
    ("42", "Do đó có 42 quả táo."),
    ("220", "Réponse: 220 $ à payer d'ici 12 mois."),
    ("2", "He ate 1 of his 3 pears, so 2 remain."),
    ("10", "We add them up.\n#### The numerical answer is 10."),
    ("1000.5", "so the area is 1,000.5m²"),
    ("12, 13", 'The final answer is \\"$12 $ and $13 $\\". I hope it is correct.'),
    ("D", "D. it cannot be A or B"),
    ("A", "A. sunlight."),
    ("C", "We weigh the options one by one.\n\nC"),
]
NOT_STATED = [
    ("5", "so $5x=30$ and $6x=5$."),
    ("30", "so $5x=30$ and $x=6$."),
    ("odd", "The function is not an even function."),
    ("\\text{even}", "The function is an odd function."),
    ("\\text{even}", "Is it an even function?"),
    ("30", "We have $5x=30$."),
    ("\\text{east}", "He is not facing East."),
    ("\\text{east}", "He was facing East before turning right."),
    ("\\text{east}", "He is facing East or West."),
    ("2", "So there are two solutions or three."),
    ("xy+6y+4x+12", "So, $xy+6y+2a+10$ factors to $(x+3)(y+4)$."),
    ("24", "So the number is 4!/(2! * 2!) = 24/4 = 6."),
    ("5", "The numbers are 3, 5, 7 and 9."),
    ("2", "The graph has two $y$-intercepts or more."),
    ("42", "Ответ не 42."),
    ("42", "La réponse n'est pas 42."),
    ("42", "42ではない。"),
    ("42", "الجواب ليس 42"),
    ("5", "We try to get $5$."),
    ("3", "We compute 17, then 3, and stop."),
    ("A", "A. sunlight; B. rain"),
    ("A", "A. sunlight or rain"),
    ("B", "A\n\nB"),
    ("2", "We add 1, and then 2."),
    ("6", "$x=6$ and $y=5$."),
    ("5", "x=6 and y=5."),
    ("42", "A resposta não é 42."),
    ("42", "La respuesta no es 42."),
    ("42", "उत्तर 42 नहीं है।"),
    ("42", "정답은 42가 아니다."),
    ("42", "Đáp án không phải là 42."),
]


@pytest.mark.parametrize(("gold", "response"), STATED)
def test_what_the_last_sentence_states_is_paid(gold: str, response: str) -> None:
    assert grade(gold, response, sympy=False).score == 1


@pytest.mark.parametrize(("gold", "response"), NOT_STATED)
def test_what_it_does_not_state_is_not_paid(gold: str, response: str) -> None:
    assert grade(gold, response, sympy=False).score == 0
