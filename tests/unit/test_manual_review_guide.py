"""docs/manual_review.md explains every reason that the worker gives."""

import re
from pathlib import Path

from domain.verdicts import ReviewReason

GUIDE = (Path(__file__).parents[2] / "docs" / "manual_review.md").read_text()


def test_every_reason_for_a_person_to_look_is_explained_to_that_person() -> None:
    cells = re.findall(r"^\| (`[^|]+`) \|", GUIDE, re.MULTILINE)
    explained = {word for cell in cells for word in re.findall(r"`(\w+)`", cell)} - {"reason"}

    # An orphan has no intent to review: it is explained below the table.
    assert {reason.value for reason in ReviewReason} == explained | {"orphan"}
