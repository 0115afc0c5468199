"""The final statement is one claim: what stands beside a box, words after a number, mentions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mint_envs.math import grade

pytestmark = pytest.mark.quick

PATH = Path(__file__).parent / "data" / "math_statement.jsonl"
CASES = [json.loads(line) for line in PATH.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("row", CASES, ids=lambda row: row["id"])
def test_case(row: dict[str, Any]) -> None:
    reward = grade(row["gold"], row["response"], sympy=False)
    assert (reward.score == 1) == row["verdict"], dict(reward.metadata)


CLAIMED = [
    ("-256", "$a=-\\boxed{256}$"),
    ("-256", "The answer is -\\boxed{256}."),
    ("5", "The answer - \\boxed{5}"),
    ("5", "Step 2 - \\boxed{5}"),
    ("5\\pi", "Area $=\\boxed{5}\\pi$."),
    ("10", "$2\\cdot\\boxed{5}$"),
    ("25", "$\\boxed{5}^2$"),
    ("5", "$x=\\boxed{5}\\text{ cm}$"),
    ("5", "$\\boxed{5}$ apples"),
    ("5\\%", "$\\boxed{5}\\%$"),
    ("5", "$\\boxed{5}\\%$"),
    ("0.05", "$\\boxed{5}\\%$"),
    ("5", "$\\boxed{5}$%"),
    ("60", "$\\angle A = \\boxed{60}^\\circ$"),
    ("5", "$\\sqrt{25} = \\boxed{5}$"),
    ("5", "\\[ \\begin{aligned} x &= 3+2 \\\\ &= \\boxed{5} \\end{aligned} \\]"),
    ("5", "\\[ x = 5 \\implies \\boxed{5} \\]"),
    ("5", "The answer is \\boxed{5}!"),
    ("5", "$3+2=\\boxed{5}$ dollars"),
    ("5", "$\\boxed{5}.$"),
    ("5", "$$\\boxed{5}$$ where $x > 3$."),
    ("5", "\\(\\boxed{5}\\), since $x^2=25$"),
    ("5", "$\\boxed{5}$\n\nThe answer is reasonable because 5 > 3."),
    ("5", "\\boxed{5}\n\nThe answer is $5$."),
    ("5", "$\\boxed{5}$. Wait, let me verify: 2+3 = 5. Yes, it is 5."),
    ("5", "\\boxed{5}\n\n#### 5"),
    ("C", "The condition is \\boxed{a>b}.\n\n**Answer: C**"),
    ("C", "So \\boxed{?}. #### C"),
    ("5", "```python\nprint(3)\n```\nso \\boxed{5}"),
    ("5", "```latex\n\\boxed{5}\n```"),
    ("5", "**\\boxed{5}**"),
    ("6", "Is it \\boxed{5}? No. It is \\boxed{6}."),
    ("6", "\\boxed{6}. Note that \\boxed{5} is wrong."),
    ("(3,4)", "\\boxed{(3,4)}"),
    ("x>5", "$x > \\boxed{5}$"),
    ("5000000", "\\boxed{5} million"),
    ("5", "$n \\equiv \\boxed{5} \\pmod{7}$"),
    ("5", "\\[\\boxed{5} \\quad \\text{(QED)}\\]"),
    ("5", "$\\boxed{5}$ is the answer."),
    ("5", "\\boxed{5} is the only solution."),
    ("5", "$\\text{Answer: } \\boxed{5}$"),
    ("5", "{\\boxed{5}}"),
    ("5", "$\\color{blue}{\\boxed{5}}$"),
    ("5", "So $x = \\boxed{5} \\text{ is the answer}$"),
    ("5", "The maximum of $\\boxed{5}$ is attained at $x=1$."),
    ("5", "$x=-3$ or $x=5$. As $x>0$, \\boxed{5}"),
    ("\\{2,3\\}", "$x=\\boxed{2}$ or $x=\\boxed{3}$"),
    ("42", "The answer is 42."),
    ("7", "So the answer is \\boxed{7}.\n\nNote: \nThe answer is in simplest form."),
    ("204_5", "$\\boxed{204}_5$"),
    ("5", "<answer>5</answer> wrapped in <answer> tags"),
    ("5", "\\boxed{5}\n\nQuestion: what is 2+2?\nAnswer: 4"),
    ("3", "2+1=3\n\nQuestion: 5+5?\nThe answer is 10."),
    ("\\frac{3}{4}", "$y=\\boxed{\\frac{3}{4}}$ of the pie"),
    ("12", "\\boxed{12}"),
    ("5", "$\\boxed{5}$ in total"),
    ("5", "\\boxed{5} and we are done"),
    ("5", "Thus $\\boxed{x = 5}$."),
    ("5", "$\\therefore \\boxed{5}$"),
    ("5", "$\\Rightarrow\\boxed{5}$"),
    ("5", "$\\$\\boxed{5}$"),
    ("5", "There are $\\binom{5}{1} = \\boxed{5}$ ways"),
    ("5", "$\\boxed{5}$ (and not 6)"),
    ("5", "$f(2) = 3 + 2 = \\boxed{5}.$ I hope this helps!"),
    ("5", "$\\boxed{5} = 2+3$"),
    ("5", "\\boxed{5}, 6 is too large"),
    ("5", "$\\boxed{5}\\checkmark$"),
    ("A", "\\boxed{A}. B is wrong because it has 3."),
    ("5", "\\boxed{5}. Actually, this can be checked directly."),
    ("5", "\\boxed{5}. This is wrong? No, it's fine: it is 5."),
]
NOT_CLAIMED = [
    ("256", "$a=-\\boxed{256}$"),
    ("256", "$-\\boxed{256}$"),
    ("256", "a = -$\\boxed{256}$"),
    ("5", "\\boxed{5} million"),
    ("5", "$\\boxed{5}$ million"),
    ("5", "$\\boxed{5}\\pi$"),
    ("5", "$\\boxed{5}^2$"),
    ("5", "$2\\cdot\\boxed{5}$"),
    ("5", "$2\\boxed{5}$"),
    ("5", "$\\sqrt{\\boxed{5}}$"),
    ("5", "$\\frac{\\boxed{5}}{2}$"),
    ("5", "$x>\\boxed{5}$"),
    ("5", "x > \\boxed{5}"),
    ("5", "$\\boxed{5} \\text{ or } 6$"),
    ("5", "\\boxed{5} or 6"),
    ("5", "$\\boxed{5}$ or $6$"),
    ("6", "5 or \\boxed{6}"),
    ("6", "$5$ or $\\boxed{6}$"),
    ("5", "\\boxed{5} is wrong"),
    ("5", "\\boxed{5}? No."),
    ("5", "\\boxed{5} is not the answer."),
    ("5", "\\boxed{5}\nNo wait, it is 6."),
    ("5", "\\boxed{5}. The final answer is 6"),
    ("5", "\\boxed{5}\n#### 6"),
    ("5", "\\boxed{5}\n<answer>6</answer>"),
    ("5", "\\boxed{5} ... \\boxed{5} is wrong"),
    ("5", "It would be wrong to say \\boxed{5}."),
    ("5", 'The format says "put the answer in \\boxed{5}".'),
    ("5", "Put your final answer in \\boxed{5}."),
    ("5", "```python\nprint('\\boxed{5}')\n```"),
    ("5", "$\\boxed{5} + 3$"),
    ("5", "$\\boxed{5}x$"),
    ("5", "$\\boxed{5}!$"),
    ("5", "$\\boxed{5} \\text{ thousand}$"),
    ("5", "\\boxed{5} squared"),
    ("5", "\\boxed{5}/2"),
    ("5", "\\boxed{5}*2"),
    ("5", "3*\\boxed{5}"),
    ("5", "The answer is 5. No wait, it is 6."),
    ("5", "Answer: 5\nActually it is 6."),
    ("5", "#### 5\nNo, it is 6."),
    ("5", "Answer: 5. That is wrong."),
    ("5", "The answer is 5? No."),
    ("5", "Answer: 5 is not it"),
    ("5", "\\boxed{5}. I made a mistake."),
    ("5", "\\boxed{5} dozen"),
    ("5", "\\boxed{5} over 2"),
    ("5", "$\\boxed{5}\\text{ over }2$"),
    ("5", "$\\boxed{5}\\text{ dozen}$"),
    ("10", "2+1=3\n\nQuestion: 5+5?\nThe answer is 10."),
    ("5", "<answer>5</answer> No wait, it is 6."),
    ("5", "either \\boxed{5} or 6"),
    ("5", "$\\boxed{5} \\pm 1$"),
    ("5", "$\\pm\\boxed{5}$"),
    ("5", "$10^{\\boxed{5}}$"),
    ("5", "$\\boxed{5} < x$"),
    ("5", "$\\boxed{5}\\sqrt{2}$"),
    ("5", "√\\boxed{5}"),
    ("5", "\\boxed{5}√2"),
    ("5", "$i\\boxed{5}$"),
    ("5", "$\\log\\boxed{5}$"),
    ("5", "$1/\\boxed{5}$"),
    ("B", "\\boxed{\\text{B) 12 (or C) 13)}}"),
    ("5", "\\boxed{5} per mille"),
    ("5", "\\boxed{7} percent of x"),
    ("5 m", "\\boxed{5} km"),
    ("5 m", "$\\boxed{5}\\text{ km}$"),
]
SAID = [
    ("25", "\\boxed{5\\text{ squared}}"),
    ("60", "\\boxed{5\\text{ dozen}}"),
    ("\\frac{5}{10}", "\\boxed{5\\text{ tenths}}"),
    ("5\\pi", "\\boxed{5 \\text{ pi}}"),
    ("500000", "\\boxed{5 \\text{ lakh}}"),
    ("5", "\\boxed{5\\text{ red marbles}}"),
    ("5", "\\boxed{5\\text{ people}}"),
    ("5 zorbs", "\\boxed{5\\text{ zorbs}}"),
    ("7", "84/12 = **7 dozen**."),
    ("f(x)=2x", "\\boxed{f(x)=2x \\text{ for all real } x}"),
    ("3k", "\\boxed{3k \\text{ where } k \\text{ is an integer}}"),
    ("5", "\\boxed{5 \\text{ square units}}"),
    ("42", "Q: x\nThe answer is 42."),
    ("5", "We divide. So he has 5 apples. The problem says there are 12 boxes."),
    ("5/7", "So it is 5/7. The fraction 5/7 is already in simplest form."),
    ("5", "In step 2 we get 5 apples."),
    ("8", "Case 2 gives 8."),
    ("1.41", "$\\sqrt2\\approx 1.41$"),
    ("\\sqrt2", "\\boxed{\\sqrt2\\approx 1.415}"),
    ("5", "She has 5 more than Tom."),
    ("5", "So it takes 5 hours and nothing else."),
    ("3", "```output\n3\n```\nSo the answer is 3."),
    ("28", "So we have (8*7) / (2*1) = 28."),
    ("5", "I think he has 5 dogs."),
    ("10", "So there are $10$ ways to do this."),
    ("5000000", "So it is $5$ million."),
]
NOT_SAID = [
    ("5", "I give up at step 5."),
    ("12", "The problem says there are 12 boxes."),
    ("5", "1, 2, 3, 4, 5."),
    ("5", "The answer has 5 digits."),
    ("0", "We have $o = 0$. Next we find j.\n```python\nj\n```"),
    ("5", "So it is 5. But I don't know the answer."),
    ("5", "Let x = 5."),
    ("5", "Suppose there are 5 apples."),
    ("5", "We need to find 5."),
    ("5", "Next, we solve for $5$."),
    ("5", "See equation (5)."),
    ("5", "This is case 5."),
    ("3", "The question asks about 3 numbers."),
    ("7", "```python\nfor i in range(7):\n    print(i)\n"),
    ("25", "We know k = 25.\n```python\nhcf(25)\n```"),
    ("5", "Answer: 5 tenths"),
    ("5", "Answer: 5 over 2"),
    ("5", "The answer is 5 times ten."),
    ("5", "The answer is 5 factorial."),
    ("5", "The answer is 5 less than 12."),
    ("5", "So there are 5 dozen."),
    ("5", "\\boxed{5 \\text{ for even } n}"),
    ("5", "\\boxed{5 \\text{ pi}}"),
    ("5", "\\boxed{5 minus one}"),
    ("5", "\\boxed{5 \\text{ thirds}}"),
    ("5", "\\boxed{5 \\text{ mod } 7}"),
    ("5", "\\boxed{5 \\text{ lakh}}"),
    ("5", "\\boxed{5 \\text{ hundredths}}"),
    ("5", "\\boxed{5\\text{ squared}}"),
    ("5", "The answer is 5 squared."),
    ("5", "Answer: 5 thousand"),
    ("5", "The answer is $5$ squared."),
    ("5", "The answer is $5$ million."),
    ("5", "So it is $5$ thousand dollars."),
    ("5", "So it is 5 to the fourth."),
    ("5", "So it is 5 plus 3."),
    ("5", "So there are 5 and a half miles."),
    ("5", "The answer is 5 and a half."),
    ("5", "The answer is five thirds."),
    ("5", "So the result is 5 divided by 2."),
    ("5", "So the value is 5 root two."),
    ("5", "Answer: 5 root 2"),
    ("1.415", "$\\sqrt2\\approx 1.415$"),
    ("1.413", "\\boxed{\\sqrt2\\approx 1.413}"),
]


HONEST = [
    ("5", "So, $\\boxed{5}$ is the largest value, since 6 is not a divisor of 12."),
    ("5", "\\boxed{5}. We can verify: 2+3=5, which is correct. It is 5 indeed."),
    ("5", "The answer is \\boxed{5}, which is a prime number."),
    ("5", "Therefore, the number of students is $\\boxed{5}$ students."),
    ("5", "So there are $\\boxed{5}$ pairs."),
    ("5", "It takes $\\boxed{5}$ hours and 20 km."),
    ("5", "The remainder is $\\boxed{5}$ when divided by $7$."),
    ("5", "$\\boxed{5}$ or equivalently $\\frac{10}{2}$."),
    ("5", "$\\boxed{5}$ (or $10/2$)."),
    ("0.5", "\\boxed{0.5} or \\frac12"),
    ("5", "Tom has \\boxed{5} more apples than Jim."),
    ("5", "Jim is \\boxed{5} times as old."),
    ("5", "The price is \\$\\boxed{5}."),
    ("5", "The price is $\\$\\boxed{5}$ per kg."),
    ("60", "The angle is $\\boxed{60}^{\\circ}$."),
    ("20", "So $x = \\boxed{20}\\%$."),
    ("20", "\\boxed{20} percent"),
    ("5", "Thus, $a+b = 2+3 = \\boxed{5}$. $\\blacksquare$"),
    ("5", "$a = 2, b = 3$, so $a + b = \\boxed{5}$"),
    ("(2,3)", "The vertex is $(h,k) = \\boxed{(2,3)}$"),
    ("x^2+1", "$f(x) = \\boxed{x^2+1}$ for all $x$."),
    ("x^2+1", "$\\boxed{x^2+1}$, where $x$ is real"),
    ("3", "We have $n \\geq 3$, so the minimum is $\\boxed{3}$."),
    ("[2,3]", "$x \\in \\boxed{[2,3]}$"),
    ("6", "$\\boxed{6}$ is the answer, not $5$."),
    ("6", "I first thought it was 5, but that is wrong. So \\boxed{6}."),
    ("6", "\\boxed{6} since it can't be 5."),
    ("B", "\\boxed{B}. Option A is incorrect because it is 3."),
    ("B", "The answer is $\\boxed{\\text{B}}$ : 12"),
    ("B", "\\boxed{B} 12 cm"),
    ("5", "Answer: \\boxed{5}\n\nExplanation: the answer is obtained by adding 2 and 3."),
    ("5", "### Answer\n\\boxed{5}\n\n### Step-by-step\n1. Add 2 and 3.\n2. The answer is 5."),
    ("5", "\\boxed{5}\n\n#### Verification: 2+3=5"),
    ("5", "$\\boxed{5}$\n```python\nprint(2+3)\n```"),
    ("5", "```python\nprint(2+3)\n```\n```output\n5\n```\nThe result is $\\boxed{5}$."),
    ("12", "So she has 12 eggs."),
    ("12", "Thus, Tom needs to buy 12 eggs."),
    ("12", "We need to buy 12 eggs in total."),
    ("12", "He must work 12 hours."),
    ("12", "They have to walk 12 miles."),
    ("12", "Therefore, we need 12 eggs."),
    ("12", "We can see that 12 is the answer."),
    ("12", "This means there are 12 left."),
    ("12", "Let's add: 5 + 7 = 12."),
    ("12", "Given that, she has 12 eggs."),
    ("12", "The problem asks for the total, which is 12."),
    ("12", "The question asks for the sum: 5 + 7 = 12."),
    ("12", "In total she used 12 eggs, so the answer is 12."),
    ("12", "I used 12 as the total, so the answer is 12."),
    ("5", "There are 5 solutions."),
    ("5", "She wrote 5 letters."),
    ("5", "I would need 5 boxes."),
    ("12", "I found that there are 12 ways."),
    ("12", "By solving it I get 12."),
    ("3", "Case 1 fails, so n = 3."),
    ("8", "There are 8 cases."),
    ("3", "Part 3 gives the answer 3."),
    ("7", "The answer is option 7."),
    ("4", "The number of steps is 4."),
    ("4", "He took 4 steps."),
    ("12", "At first there were 20, and now there are 12."),
    ("12", "So the answer should be 12!"),
    ("12", "The answer is 12 (twelve)."),
    ("12", "The answer is 12 (see above)."),
    ("12", "The answer is 12, not 13."),
    ("12", "The answer is 12"),
    ("12", "**12**"),
    ("12", "12 eggs"),
    ("12", "= 12"),
    ("5", "Answer: 5 (only one is real)"),
    ("5", "The answer is $5$ because it is the sum."),
    ("5", "Hmm, wait. Let me recompute: it is 5. The answer is 5."),
    ("5", "\\boxed{5} is right; this is not wrong."),
    ("5", "The correct value is \\boxed{5}, as the format requires."),
    ("5", "As requested, I put my answer in a box: \\boxed{5}"),
    ("5", "I will put the final answer in \\boxed{}: \\boxed{5}"),
    ("5", 'The final answer in the requested format: "\\boxed{5}"'),
    ("5", "Final answer in the form \\boxed{5}"),
    ("5", "So our answer is \\boxed{5}"),
    ("5", "Hence your answer is \\boxed{5}."),
    ("5", "(e.g., by AM-GM) we get \\boxed{5}"),
]


@pytest.mark.parametrize(("gold", "response"), HONEST)
def test_what_models_write_round_an_answer_takes_nothing_away(gold: str, response: str) -> None:
    assert grade(gold, response, sympy=False).score == 1


@pytest.mark.parametrize(("gold", "response"), CLAIMED)
def test_a_claim_with_what_stands_beside_it_is_paid(gold: str, response: str) -> None:
    assert grade(gold, response, sympy=False).score == 1


@pytest.mark.parametrize(("gold", "response"), NOT_CLAIMED)
def test_a_part_of_a_claim_is_not_paid(gold: str, response: str) -> None:
    assert grade(gold, response, sympy=False).score == 0


@pytest.mark.parametrize(("gold", "response"), SAID)
def test_words_that_leave_a_number_what_it_is(gold: str, response: str) -> None:
    assert grade(gold, response, sympy=False).score == 1


@pytest.mark.parametrize(("gold", "response"), NOT_SAID)
def test_words_that_change_a_number_and_mentions_are_not_paid(gold: str, response: str) -> None:
    assert grade(gold, response, sympy=False).score == 0


@pytest.mark.parametrize("response", ["The answer is 42.", "So the answer is: 42", "#### 42"])
def test_strict_reads_what_a_few_shot_prompt_asks_for(response: str) -> None:
    assert grade("42", response, strict=True).score == 1


@pytest.mark.parametrize(
    "response", ["If the answer is 42, x is 3.", "It is 42.", "The answer is not 42.", "42"]
)
def test_strict_reads_no_other_sentence(response: str) -> None:
    assert grade("42", response, strict=True).score == 0
