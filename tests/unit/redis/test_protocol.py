"""What we pack by hand is what redis-py sends."""

import pytest
from redis import Connection

from adapters.redis.protocol import opening, word


@pytest.mark.parametrize("last", ["", "a", "ชำระเงิน ฿1.00", "*1\r\n$4\r\nPING\r\n", "x" * 100_000])
def test_a_command_is_packed_as_the_client_packs_it(last: str) -> None:
    ours = opening("XADD", "สตรีม", "*", more=2) + word(b"field") + word(last.encode())

    theirs = Connection().pack_command("XADD", "สตรีม", "*", "field", last)  # type: ignore[no-untyped-call]
    assert ours == b"".join(theirs)
