"""Flips, truncates and removes every file of an index: each damage is reported or harmless, never silently wrong.

The damage, and what is read afterwards, are those of `tests/index/test_damage.py`, with more places in each file.
"""

from __future__ import annotations

import random
import shutil
import tempfile
from pathlib import Path

from campaigns.tally import Tally
from index.test_damage import FILES, everything, flipped, harm, harms, silently_wrong, written_book

MORE = 12  # further flipped bits in each file
SEED = 5


async def run() -> Tally:
    tally = Tally("damaged files of an index")
    dice = random.Random(SEED)
    told = 0
    with tempfile.TemporaryDirectory(prefix="quoth-campaign-") as place:
        book, saved = await written_book(Path(place)), Path(place) / "saved"
        shutil.copytree(book, saved)
        sound = await everything(Path(place))
        for name in FILES:
            content = (book / name).read_bytes()
            spots = [(dice.randrange(len(content)), dice.randrange(8)) for _ in range(MORE)]
            further = {f"bit {bit} of byte {spot} flipped": flipped(content, spot, bit) for spot, bit in spots}
            for how, spoilt in {**harms(content), **further}.items():
                harm(book / name, spoilt)
                found = await everything(Path(place))
                wrong = silently_wrong(found, sound)
                tally.judge(not wrong, f"{name}, {how}: {', '.join(wrong)}")
                told += any(isinstance(result, Exception) for result in found.values())
                shutil.rmtree(book)
                shutil.copytree(saved, book)
    tally.figures = {"files": len(FILES), "told by an error": told}
    return tally
