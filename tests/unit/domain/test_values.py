"""A value is one by its fields, and mypy keeps them from being set."""

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from domain.values import value


@value
class Point:
    x: int
    y: int = 0


@value(kw_only=False)
class Place:
    point: Point
    name: str = ""


if TYPE_CHECKING:
    # ``make types`` fails where mypy lets one of these pass: an ignore without an error is one.
    Point(x=1).x = 2  # type: ignore[misc]
    Place(Point(x=1)).point = Point(x=2)  # type: ignore[misc]
    Place(Point(x=1)).point.x += 1  # type: ignore[misc]
    Point(1, 2)  # type: ignore[call-arg]
    replace(Point(x=1), z=2)  # type: ignore[call-arg]
    replace(Point(x=1), x="1")  # type: ignore[arg-type]


def test_values_of_equal_fields_are_one_and_the_same_to_sets_and_dicts() -> None:
    one, same, other = (Place(Point(x=x), "here") for x in (1, 1, 2))

    assert one == same
    assert one != other
    assert {one, same, other} == {one, other}
    assert {one: "found"}[same] == "found"


def test_a_value_has_no_other_attributes_than_its_fields() -> None:
    with pytest.raises(AttributeError):
        Point(x=1).z = 3  # type: ignore[attr-defined]


def test_fields_are_named_when_a_value_is_made_unless_its_class_says_otherwise() -> None:
    with pytest.raises(TypeError):
        Point(1, 2)  # type: ignore[call-arg]

    match Place(Point(x=1), "here"):
        case Place(Point(x=x), name):
            assert (x, name) == (1, "here")
        case _:
            pytest.fail("no match")


def test_a_changed_copy_leaves_the_value_as_it_was() -> None:
    one = Point(x=1, y=2)

    assert replace(one, x=3) == Point(x=3, y=2)
    assert one == Point(x=1, y=2)
