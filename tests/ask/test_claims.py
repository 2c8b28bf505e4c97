"""The text of an answer is cut into what it claims, and no character is lost."""

from __future__ import annotations

import pytest

from quoth.ask.claims import claims, is_claim


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("One [1]. Two. [2] Three [3]", ["One.", "Two.", "Three"]),
        ("One. [1][2] Two. 【3】 Three.", ["One.", "Two.", "Three."]),
        ("See e.g. Fig. 3 of Dr. Who. Then go.", ["See e.g. Fig. 3 of Dr. Who.", "Then go."]),
        ("1. One\n2. Two [1]\n   - Three", ["One", "Two", "Three"]),
        ("> One. Two.\n\n# Head\n\nThree.", ["One.", "Two.", "Three."]),
        ("| A | B |\n|---|---|\n| c | d |", ["| A | B |\n|---|---|", "| c | d |"]),
        ("One:\n\n```\na. B\n```\n\n[1]", ["```\na. B\n```"]),
        ("<div>One.</div>\n\nTwo.", ["<div>One.</div>", "Two."]),
        ("(1) One [1].\n\n(2) Two [1].", ["One.", "Two."]),
        ("① One [1].\n\n2️⃣ Two [1].\n\nb) Three [1].", ["One.", "Two.", "Three."]),
        ("**Step 1:** One [1].\n\n**Tip 2** – Two [1].\n\n**Schritt 3.** Three [1].", ["One.", "Two.", "Three."]),
        ("**Step 1 – Open**\n\nOne [1].\n\n**2. Close**\n\nTwo [1].", ["One.", "Two."]),
        ("**Port 80:** One [1].", ["**Port 80:** One."]),  # a figure, not a number of the list
        ("Sure, here is a simple explanation of the paragraph you selected:\n\nOne [1].", ["One."]),
        (
            "Here is the year in which it was written, 1999:\n\nOne [1].",
            ["Here is the year in which it was written, 1999:", "One."],
        ),
    ],
)
def test_an_answer_is_cut_into_what_it_claims(text: str, words: list[str]) -> None:
    assert [claim.words for claim in claims(text) if is_claim(claim)] == words
