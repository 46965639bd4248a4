"""Transfers on their way to the client and back."""

import tigerbeetle as tb
from hypothesis import given

from adapters.tigerbeetle.conversion import from_client, status_from_client, to_client
from domain.transfer_status import TransferStatus, UnknownStatus
from domain.transfers import Transfer
from tests.helpers.transfer_strategies import transfers


@given(transfers)
def test_a_transfer_survives_the_clients_wire_form(transfer: Transfer) -> None:
    wire = tb.bindings.CTransfer.from_param(to_client(transfer))

    assert from_client(wire.to_python()) == transfer


def test_every_status_of_the_client_has_its_name() -> None:
    names = {
        status: status_from_client(tb.CreateTransferResult(timestamp=1, status=status))
        for status in tb.CreateTransferStatus
    }

    assert all(isinstance(known, TransferStatus) for known in names.values())
    assert all(status.name == known.name for status, known in names.items())


def test_a_status_of_a_newer_server_is_unknown() -> None:
    result = tb.CreateTransferResult(timestamp=1, status=4711)  # type: ignore[arg-type]

    assert status_from_client(result) == UnknownStatus(4711)
