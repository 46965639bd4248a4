"""Our names for TigerBeetle's answers are its own."""

import tigerbeetle
from hypothesis import given
from hypothesis import strategies as st

from domain.transfer_status import TransferStatus, UnknownStatus, status_of
from domain.transfers import AccountFlags, TransferFlags

codes = st.integers(min_value=0, max_value=2**32 - 1) | st.integers()


def test_every_status_of_the_official_client_is_ours_name_for_name_and_value_for_value() -> None:
    theirs = {status.name: status.value for status in tigerbeetle.CreateTransferStatus}

    assert {status.name: status.value for status in TransferStatus} == theirs


def test_every_flag_of_the_official_client_is_ours_name_for_name_and_value_for_value() -> None:
    for ours, theirs in (
        (TransferFlags, tigerbeetle.TransferFlags),
        (AccountFlags, tigerbeetle.AccountFlags),
    ):
        assert {flag.name: flag.value for flag in ours} == {
            flag.name: flag.value for flag in theirs if flag.value
        }


def test_every_known_code_is_read_as_its_status() -> None:
    assert [status_of(status.value) for status in TransferStatus] == list(TransferStatus)


@given(codes)
def test_a_code_is_either_known_or_kept_as_it_is(code: int) -> None:
    known = {status.value for status in TransferStatus}

    status = status_of(code)

    if code in known:
        assert status is TransferStatus(code)
    else:
        assert status == UnknownStatus(code)
        assert status.name == f"UNKNOWN_{code}"
