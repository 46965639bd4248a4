"""How long things may take before they are worth a person's look."""

from domain.values import value


@value
class Limits:
    """``grace_ms``: what happened less long ago than this may still be in flight.

    ``expiring_within_ms``: frozen money that is released within this time is reported.
    ``unordered_after_ms``: so long an intent may be authorized without a pending event.
    """

    grace_ms: int = 60_000
    expiring_within_ms: int = 3_600_000
    unordered_after_ms: int = 900_000
