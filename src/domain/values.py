"""What makes a class a value: compared and hashed by its fields, and never changed once made."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar, dataclass_transform, overload

T = TypeVar("T")


@overload
def value(cls: type[T], /) -> type[T]: ...
@overload
def value(*, kw_only: bool) -> Callable[[type[T]], type[T]]: ...


@dataclass_transform(frozen_default=True, kw_only_default=True)
def value(
    cls: type[T] | None = None, /, *, kw_only: bool = True
) -> type[T] | Callable[[type[T]], type[T]]:
    """Make *cls* a dataclass whose fields only a type checker keeps from being set.

    ``dataclass(frozen=True)`` also refuses at run time, and pays for it with a call of
    ``object.__setattr__`` a field: that made each value cost three times as much, and an
    event takes some 25 of them. The hash is as "unsafe" as the promise that mypy proves.
    """
    make = dataclass(slots=True, kw_only=kw_only, unsafe_hash=True)
    return make if cls is None else make(cls)
