"""How differences are shown: as they come, in columns or as one JSON document."""

import io
import json
from uuid import UUID

import pytest

from application.use_cases.reconcile import Checked
from domain.intents import Action, EventId, IntentId
from domain.reconciliation.differences import Difference, DifferenceKind
from domain.reconciliation.fixing import Obstacle
from entrypoints.reconcile_json import JsonReport
from entrypoints.reconcile_orders import ORDERS_MAX, Fixable, Ordered, Outcome
from entrypoints.reconcile_remedies import REMEDIES
from entrypoints.reconcile_report import Report, Tally
from entrypoints.reconcile_text import TextReport, summary

Kind = DifferenceKind
FIX = Action.POST_PENDING


def a_difference(
    number: int = 1,
    kind: DifferenceKind = Kind.SETTLED_NOT_POSTED,
    *,
    status: str = "SETTLED",
    detail: str = "100 satang",
    fix: Action | None = None,
) -> Difference:
    return Difference(
        intent_id=IntentId(UUID(int=number)), kind=kind, status=status, detail=detail, fix=fix
    )


def tally_of(*steps: Checked) -> Tally:
    tally = Tally()
    for step in steps:
        tally.add(step)
    return tally


@pytest.fixture
def output() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def text(output: io.StringIO) -> Report:
    return TextReport(output)


@pytest.fixture
def as_json(output: io.StringIO) -> Report:
    return JsonReport(output)


# For people.


def test_columns_stay_where_they_are(text: Report, output: io.StringIO) -> None:
    text.add(Checked(1, (a_difference(1, Kind.NO_EVENT, status="MANUAL_REVIEW"),)))
    text.add(Checked(0, (a_difference(2, fix=FIX), a_difference(3, status=""))))

    header, *lines = output.getvalue().splitlines()
    assert [line.index("100 satang") for line in lines] == [header.index("detail")] * 3
    assert [line.split()[1:4] for line in lines] == [
        ["MANUAL_REVIEW", "no_event", "-"],
        ["SETTLED", "settled_not_posted", "post_pending"],
        ["-", "settled_not_posted", "-"],
    ]


def test_where_nothing_differs_there_is_no_header(text: Report, output: io.StringIO) -> None:
    text.add(Checked(1_000, ()))

    assert output.getvalue() == ""


def test_whatever_the_detail_says_a_difference_is_one_line(
    text: Report, output: io.StringIO
) -> None:
    text.add(Checked(1, (a_difference(status="A\nB", detail="a\x1b[31m\r\nb\u2028c"),)))

    (_, line) = output.getvalue().split("\n")[:-1]
    assert "\x1b" not in line
    assert line.isprintable()


def test_json_is_ascii_whatever_the_detail_says(as_json: Report, output: io.StringIO) -> None:
    detail = "a\x1b[31m\x9b31m\u202e\u2028 สมชาย"

    as_json.add(Checked(1, (a_difference(detail=detail),)))
    as_json.sum_up(tally_of())
    as_json.end()

    text = output.getvalue()
    assert text.isascii()
    assert text.replace("\n", "").isprintable()
    assert json.loads(text)["differences"][0]["detail"] == detail


@pytest.mark.parametrize(
    ("steps", "sentence"),
    [
        ([Checked(0, ())], "0 intents checked, no difference."),
        ([Checked(1, ())], "1 intent checked, no difference."),
        ([Checked(99_000, ()), Checked(1_000, ())], "100,000 intents checked, no difference."),
        (
            [Checked(2, (a_difference(),))],
            "2 intents checked, 1 difference: 1 settled_not_posted.",
        ),
        (
            [
                Checked(2, (a_difference(), a_difference(2, Kind.FEE_MISSING))),
                Checked(0, (a_difference(3, Kind.FEE_TWICE), a_difference(4, fix=FIX))),
            ],
            "2 intents checked, 4 differences: 2 settled_not_posted, 1 fee_missing, 1 fee_twice;"
            " 1 of them the worker can put right (--fix).",
        ),
    ],
)  # fmt: skip
def test_the_last_line_sums_up(steps: list[Checked], sentence: str) -> None:
    assert summary(tally_of(*steps)) == sentence


def test_each_kind_that_was_found_is_followed_by_what_to_do(
    text: Report, output: io.StringIO
) -> None:
    steps = [
        Checked(2, (a_difference(1, Kind.NO_EVENT), a_difference(2))),
        Checked(1, (a_difference(3, Kind.NO_EVENT),)),
    ]

    text.sum_up(tally_of(*steps))

    _, empty, heading, *lines = output.getvalue().splitlines()
    assert empty == ""
    assert "docs/reconcile.md" in heading
    assert [line.split(maxsplit=1) for line in lines] == [
        ["settled_not_posted", REMEDIES[Kind.SETTLED_NOT_POSTED]],
        ["no_event", REMEDIES[Kind.NO_EVENT]],
    ]


def test_where_nothing_differs_there_is_nothing_to_do(text: Report, output: io.StringIO) -> None:
    text.sum_up(tally_of(Checked(5, ())))

    assert output.getvalue() == "5 intents checked, no difference.\n"


def test_there_is_something_to_do_about_every_kind() -> None:
    assert list(REMEDIES) == list(DifferenceKind)
    assert all(REMEDIES.values())


def test_each_order_is_a_line_and_a_sentence_counts_them(text: Report, output: io.StringIO) -> None:
    one = a_difference(fix=FIX)

    text.add_orders(
        [
            Ordered(one, Outcome.INSERTED, EventId(7), "event 7"),
            Ordered(one, Outcome.LEFT, None, "event 8 is pending", Obstacle.EVENT_PENDING),
        ],
        has_more=False,
    )

    first, second, last = output.getvalue().splitlines()
    assert first.split() == ["inserted", str(one.intent_id), "post_pending", "event", "7"]
    assert second.split()[:2] == ["left", str(one.intent_id)]
    assert second.endswith("  event 8 is pending")
    assert last.startswith("1 of 2 inserted.")


def test_where_nothing_was_inserted_it_says_so(text: Report, output: io.StringIO) -> None:
    text.add_orders([], has_more=False)

    assert output.getvalue() == "Nothing was inserted.\n"


def test_that_there_are_more_than_a_run_inserts_is_told(text: Report, output: io.StringIO) -> None:
    text.add_orders(
        [Ordered(a_difference(fix=FIX), Outcome.INSERTED, EventId(7), "event 7")], has_more=True
    )

    assert "1 of 1 inserted. There are more than 10,000: run it again." in output.getvalue()


# For programs.


def test_json_is_written_as_it_comes(as_json: Report, output: io.StringIO) -> None:
    assert output.getvalue() == ""
    as_json.add(Checked(1, (a_difference(1),)))
    assert '"00000000-0000-0000-0000-000000000001"' in output.getvalue()
    as_json.add(Checked(1, (a_difference(2, detail='"ฝาก"\n'),)))
    as_json.sum_up(tally_of(Checked(2, (a_difference(), a_difference()))))
    as_json.end()

    body = json.loads(output.getvalue())
    assert [one["intent_id"][-1] for one in body["differences"]] == ["1", "2"]
    assert body["differences"][1]["detail"] == '"ฝาก"\n'
    assert (body["intents"], body["counts"]) == (2, {"settled_not_posted": 2})


@pytest.mark.parametrize(("orders", "has_more"), [(0, False), (1, False), (3, True)])
def test_json_with_orders_is_one_document_too(
    as_json: Report, output: io.StringIO, orders: int, has_more: bool
) -> None:
    as_json.sum_up(tally_of())
    as_json.add_orders(
        [Ordered(a_difference(), Outcome.REFUSED, None, "no")] * orders, has_more=has_more
    )
    as_json.end()

    body = json.loads(output.getvalue())
    assert body["differences"] == []
    assert [one["outcome"] for one in body["fixes"]] == ["refused"] * orders
    assert body["has_more"] is has_more


# What --fix remembers.


def test_one_order_an_intent_is_remembered_and_only_what_can_be_fixed() -> None:
    fixable = Fixable()

    fixable.add([a_difference(1), a_difference(2, fix=FIX)])
    fixable.add([a_difference(2, Kind.NO_EVENT, fix=Action.VOID_PENDING)])

    assert [(one.intent_id.int, one.fix) for one in fixable.differences.values()] == [
        (2, "post_pending")
    ]
    assert not fixable.has_more


def test_no_more_orders_are_remembered_than_a_run_may_give() -> None:
    fixable = Fixable()

    fixable.add(a_difference(number, fix=FIX) for number in range(ORDERS_MAX))
    assert not fixable.has_more
    fixable.add([a_difference(ORDERS_MAX, fix=FIX)])

    assert len(fixable.differences) == ORDERS_MAX
    assert fixable.has_more
