"""What every ``Ledger`` must do, whatever is behind it.

A real server is shared by all tests of a session and keeps everything, so each test
opens its own accounts and takes new ids.
"""

import itertools
import secrets
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final, Protocol
from uuid import UUID, uuid4

import pytest

from application.ports.ledger import Ledger
from domain.chains import close_chain
from domain.intents import IntentId
from domain.ledger_requests import ChainRefused, ResolutionSearch
from domain.transfer_status import TransferStatus
from domain.transfers import (
    AMOUNT_MAX,
    U128_MAX,
    Account,
    AccountFlags,
    AccountId,
    Transfer,
    TransferFlags,
    TransferId,
)

LEDGER: Final = 1
FEE_CODE: Final = 77
NO_LIMIT: Final = AccountFlags.NONE

CREATED: Final = TransferStatus.CREATED
EXISTS: Final = TransferStatus.EXISTS
FAILED: Final = TransferStatus.LINKED_EVENT_FAILED


class Bank(Protocol):
    """What tests need of a ledger beside its port: accounts, and money frozen on them."""

    def open_account(self, *, ledger: int, flags: AccountFlags = NO_LIMIT) -> AccountId:
        """Create an account with a new id."""
        ...

    def freeze(
        self,
        debit: AccountId,
        credit: AccountId,
        amount: int,
        timeout_s: int = 0,
        user_data_128: int = 0,
    ) -> TransferId:
        """Create a pending transfer with a new id; both accounts are of this bank."""
        ...

    def balances(self, account_id: AccountId) -> Account:
        """Return the account as it stands now."""
        ...

    def wait_expired(self, pending_id: TransferId) -> None:
        """Return when the pending transfer has expired and its money is released."""
        ...


def new_id() -> TransferId:
    """Return an id that no transfer has, later than those made before."""
    return TransferId(time.time_ns() << 64 | secrets.randbits(64))


def post_of(pending_id: TransferId, amount: int = AMOUNT_MAX) -> Transfer:
    """Return a transfer with a new id that posts a pending one, by default in full."""
    return Transfer(
        id=new_id(),
        pending_id=pending_id,
        amount=amount,
        flags=TransferFlags.POST_PENDING_TRANSFER,
    )


def void_of(pending_id: TransferId) -> Transfer:
    """Return a transfer with a new id that voids a pending one."""
    return Transfer(id=new_id(), pending_id=pending_id, flags=TransferFlags.VOID_PENDING_TRANSFER)


def payment(debit: AccountId, credit: AccountId, amount: int, *, code: int = 1) -> Transfer:
    """Return a transfer with a new id that moves money at once."""
    return Transfer(
        id=new_id(),
        debit_account_id=debit,
        credit_account_id=credit,
        amount=amount,
        ledger=LEDGER,
        code=code,
    )


class LedgerContract:
    """Inherit; provide the fixtures ``ledger`` and, on the same ledger, ``bank``."""

    @pytest.fixture
    def ledger(self) -> Iterator[Ledger]:
        raise NotImplementedError

    @pytest.fixture
    def bank(self, ledger: Ledger) -> Iterator[Bank]:
        raise NotImplementedError

    @pytest.fixture
    def payer(self, bank: Bank) -> AccountId:
        return bank.open_account(ledger=LEDGER)

    @pytest.fixture
    def payee(self, bank: Bank) -> AccountId:
        return bank.open_account(ledger=LEDGER)

    # create_chains: what is answered.

    def test_no_chains_give_no_answers(self, ledger: Ledger) -> None:
        assert list(ledger.create_chains([])) == []

    def test_answers_are_in_the_order_of_the_chains(
        self, ledger: Ledger, bank: Bank, payer: AccountId, payee: AccountId
    ) -> None:
        pending_id = bank.freeze(payer, payee, 100)

        answers = ledger.create_chains(
            [
                (payment(payer, payee, 1),),
                (post_of(TransferId(new_id())),),
                (post_of(pending_id),),
                (post_of(pending_id),),
            ]
        )

        assert list(answers) == [
            (CREATED,),
            (TransferStatus.PENDING_TRANSFER_NOT_FOUND,),
            (CREATED,),
            (TransferStatus.PENDING_TRANSFER_ALREADY_POSTED,),
        ]

    def test_a_later_chain_sees_what_an_earlier_one_did(
        self, ledger: Ledger, bank: Bank, payee: AccountId
    ) -> None:
        broke = bank.open_account(ledger=LEDGER, flags=AccountFlags.DEBITS_MUST_NOT_EXCEED_CREDITS)

        answers = ledger.create_chains(
            [(payment(payee, broke, 5),), (payment(broke, payee, 5),), (payment(broke, payee, 1),)]
        )

        assert list(answers) == [(CREATED,), (CREATED,), (TransferStatus.EXCEEDS_CREDITS,)]

    def test_a_post_moves_what_was_frozen(
        self, ledger: Ledger, bank: Bank, payer: AccountId, payee: AccountId
    ) -> None:
        pending_id = bank.freeze(payer, payee, 100)
        frozen = bank.balances(payer)

        ledger.create_chains([(post_of(pending_id),)])

        assert (frozen.debits_pending, frozen.debits_posted) == (100, 0)
        debit, credit = bank.balances(payer), bank.balances(payee)
        assert (debit.debits_pending, debit.debits_posted) == (0, 100)
        assert (credit.credits_pending, credit.credits_posted) == (0, 100)

    def test_a_void_releases_what_was_frozen(
        self, ledger: Ledger, bank: Bank, payer: AccountId, payee: AccountId
    ) -> None:
        pending_id = bank.freeze(payer, payee, 100)

        answers = ledger.create_chains([(void_of(pending_id),)])

        assert list(answers) == [(CREATED,)]
        debit = bank.balances(payer)
        assert (debit.debits_pending, debit.debits_posted) == (0, 0)

    def test_an_expired_transfer_can_neither_be_posted_nor_voided(
        self, ledger: Ledger, bank: Bank, payer: AccountId, payee: AccountId
    ) -> None:
        pending_id = bank.freeze(payer, payee, 100, timeout_s=1)
        bank.wait_expired(pending_id)

        answers = ledger.create_chains([(post_of(pending_id),), (void_of(pending_id),)])

        assert list(answers) == [(TransferStatus.PENDING_TRANSFER_EXPIRED,)] * 2
        assert bank.balances(payer).debits_pending == 0

    # create_chains: all or nothing, and chains never touch each other.

    def test_a_chain_is_created_in_full_or_not_at_all(
        self, ledger: Ledger, bank: Bank, payer: AccountId, payee: AccountId
    ) -> None:
        first, last = bank.freeze(payer, payee, 10), bank.freeze(payer, payee, 20)
        chain = close_chain((post_of(first), post_of(new_id()), post_of(last)))

        answers = ledger.create_chains([chain])

        assert list(answers) == [(FAILED, TransferStatus.PENDING_TRANSFER_NOT_FOUND, FAILED)]
        assert ledger.lookup([member.id for member in chain]) == {}
        debit = bank.balances(payer)
        assert (debit.debits_pending, debit.debits_posted) == (30, 0)

    def test_a_broken_chain_leaves_its_neighbours_alone(
        self, ledger: Ledger, bank: Bank, payer: AccountId, payee: AccountId
    ) -> None:
        pendings = [bank.freeze(payer, payee, 10) for _ in range(4)]
        before = close_chain((post_of(pendings[0]), post_of(pendings[1])))
        broken = close_chain((payment(payer, payee, 1), post_of(new_id())))
        after = close_chain((post_of(pendings[2]), post_of(pendings[3])))

        answers = ledger.create_chains([before, broken, after])

        assert list(answers) == [
            (CREATED, CREATED),
            (FAILED, TransferStatus.PENDING_TRANSFER_NOT_FOUND),
            (CREATED, CREATED),
        ]
        assert bank.balances(payer).debits_posted == 40

    def test_an_open_chain_is_refused_and_never_merges_with_the_next(
        self, ledger: Ledger, bank: Bank, payer: AccountId, payee: AccountId
    ) -> None:
        linked = replace(payment(payer, payee, 1), flags=TransferFlags.LINKED)
        next_one = payment(payer, payee, 2)

        answers = ledger.create_chains([(linked,), (next_one,)])

        assert isinstance(answers[0], ChainRefused)
        assert answers[1] == (CREATED,)
        assert list(ledger.lookup([linked.id, next_one.id])) == [next_one.id]

    def test_a_refused_chain_does_not_keep_others_from_being_sent(
        self, ledger: Ledger, bank: Bank, payer: AccountId, payee: AccountId
    ) -> None:
        good = [payment(payer, payee, 1) for _ in range(3)]
        too_long = close_chain(tuple(payment(payer, payee, 1) for _ in range(10_000)))

        answers = ledger.create_chains(
            [
                (good[0],),
                (),
                (good[1],),
                too_long,
                (replace(payment(payer, payee, 1), amount=U128_MAX + 1),),
                (good[2],),
            ]
        )

        assert [isinstance(answer, ChainRefused) for answer in answers] == [
            False,
            True,
            False,
            True,
            True,
            False,
        ]
        assert [answers[at] for at in (0, 2, 5)] == [(CREATED,)] * 3
        assert bank.balances(payer).debits_posted == 3
        assert ledger.lookup([too_long[0].id, too_long[-1].id]) == {}

    @pytest.mark.parametrize(
        ("field", "value"),
        [
            ("id", -1),
            ("id", 2**128),
            ("id", UUID(int=7)),
            ("debit_account_id", 2**128),
            ("credit_account_id", "7"),
            ("amount", 2**128),
            ("amount", 1.0),
            ("amount", True),
            ("pending_id", -1),
            ("user_data_128", 2**128),
            ("user_data_64", 2**64),
            ("user_data_32", 2**32),
            ("timeout_s", 2**32),
            ("ledger", 2**32),
            ("code", 2**16),
            ("flags", 2**16),
            ("timestamp_ns", 2**64),
            ("timestamp_ns", None),
        ],
    )
    def test_a_value_that_cannot_be_sent_refuses_its_whole_chain(
        self,
        ledger: Ledger,
        bank: Bank,
        payer: AccountId,
        payee: AccountId,
        field: str,
        value: object,
    ) -> None:
        changes: dict[str, Any] = {field: value}
        good = replace(payment(payer, payee, 1), flags=TransferFlags.LINKED)
        bad = replace(payment(payer, payee, 1), **changes)

        answers = ledger.create_chains([(good, bad)])

        assert isinstance(answers[0], ChainRefused)
        assert ledger.lookup([good.id]) == {}

    def test_thousands_of_chains_are_packed_and_all_carried_out(
        self, ledger: Ledger, bank: Bank, payer: AccountId, payee: AccountId
    ) -> None:
        lengths = list(itertools.islice(itertools.cycle((1, 2, 3)), 3_000))
        chains = [
            close_chain(tuple(payment(payer, payee, 1) for _ in range(length)))
            for length in lengths
        ]

        answers = ledger.create_chains(chains)

        assert list(answers) == [(CREATED,) * length for length in lengths]
        assert bank.balances(payer).debits_posted == sum(lengths)

    # create_chains: replays.

    @pytest.mark.parametrize("length", [1, 2, 3])
    def test_a_chain_sent_again_exists_and_moves_nothing(
        self, ledger: Ledger, bank: Bank, payer: AccountId, payee: AccountId, length: int
    ) -> None:
        chain = close_chain(tuple(post_of(bank.freeze(payer, payee, 10)) for _ in range(length)))
        first = ledger.create_chains([chain])

        again = ledger.create_chains([chain])

        assert list(first) == [(CREATED,) * length]
        assert list(again) == [(EXISTS,) + (FAILED,) * (length - 1)]
        assert bank.balances(payer).debits_posted == 10 * length

    @pytest.mark.parametrize("length", [1, 2, 3])
    def test_a_chain_with_new_ids_finds_its_transfers_posted(
        self, ledger: Ledger, bank: Bank, payer: AccountId, payee: AccountId, length: int
    ) -> None:
        pendings = [bank.freeze(payer, payee, 10) for _ in range(length)]
        ledger.create_chains([close_chain(tuple(post_of(id_) for id_ in pendings))])

        again = ledger.create_chains([close_chain(tuple(post_of(id_) for id_ in pendings))])

        posted = TransferStatus.PENDING_TRANSFER_ALREADY_POSTED
        assert list(again) == [(posted,) + (FAILED,) * (length - 1)]

    def test_a_burned_id_is_refused_ever_after(
        self, ledger: Ledger, bank: Bank, payer: AccountId, payee: AccountId
    ) -> None:
        burned = post_of(new_id())
        ledger.create_chains([(burned,)])
        pending_id = bank.freeze(payer, payee, 10)

        answers = ledger.create_chains([(burned,), (replace(burned, pending_id=pending_id),)])

        assert list(answers) == [(TransferStatus.ID_ALREADY_FAILED,)] * 2

    # lookup.

    def test_looking_up_nothing_finds_nothing(self, ledger: Ledger) -> None:
        assert ledger.lookup([]) == {}

    def test_a_found_transfer_has_what_was_sent_and_what_it_inherited(
        self, ledger: Ledger, bank: Bank, payer: AccountId, payee: AccountId
    ) -> None:
        pending_id = bank.freeze(payer, payee, 100, user_data_128=4711)
        post = post_of(pending_id)
        ledger.create_chains([(post,)])

        found = ledger.lookup([pending_id, post.id])

        pending = found[pending_id]
        assert pending.timestamp_ns > 0
        assert found[post.id] == replace(
            pending,
            id=post.id,
            pending_id=pending_id,
            flags=TransferFlags.POST_PENDING_TRANSFER,
            timestamp_ns=found[post.id].timestamp_ns,
        )
        assert found[post.id].timestamp_ns > pending.timestamp_ns
        assert (pending.debit_account_id, pending.credit_account_id) == (payer, payee)
        assert (pending.amount, pending.user_data_128) == (100, 4711)

    def test_missing_ids_and_ids_out_of_range_are_not_found(
        self, ledger: Ledger, bank: Bank, payer: AccountId, payee: AccountId
    ) -> None:
        pending_id = bank.freeze(payer, payee, 100)

        found = ledger.lookup(
            [
                new_id(),
                TransferId(0),
                TransferId(U128_MAX),
                TransferId(-1),
                TransferId(pending_id + 2**128),
                pending_id,
            ]
        )

        assert list(found) == [pending_id]

    def test_thousands_of_ids_are_looked_up_in_one_call(
        self, ledger: Ledger, payer: AccountId, payee: AccountId
    ) -> None:
        transfers = [payment(payer, payee, 1) for _ in range(3_000)]
        ledger.create_chains([(transfer,) for transfer in transfers])

        found = ledger.lookup([transfer.id for transfer in transfers])

        assert found.keys() == {transfer.id for transfer in transfers}

    # find_resolutions.

    def search(
        self,
        ledger: Ledger,
        *pending_ids: TransferId,
        intent_id: IntentId,
        nostro: AccountId | None = None,
    ) -> ResolutionSearch:
        found = ledger.lookup(pending_ids)
        return ResolutionSearch(
            intent_id=intent_id,
            pendings=tuple(found[pending_id] for pending_id in pending_ids),
            fee_code=FEE_CODE,
            fee_credit_account_id=nostro,
        )

    def ids_found(self, ledger: Ledger, search: ResolutionSearch) -> set[TransferId]:
        found = ledger.find_resolutions(search).transfers
        return {transfer.id for transfer in found}

    @pytest.mark.parametrize("carries_intent_id", [True, False])
    def test_whoever_resolved_a_pending_transfer_is_found(
        self,
        ledger: Ledger,
        bank: Bank,
        payer: AccountId,
        payee: AccountId,
        carries_intent_id: bool,
    ) -> None:
        intent_id = IntentId(uuid4())
        user_data = intent_id.int if carries_intent_id else 0
        posted, voided, untouched = (
            bank.freeze(payer, payee, 10, user_data_128=user_data) for _ in range(3)
        )
        post, void = post_of(posted, 4), void_of(voided)
        ledger.create_chains([(post,), (void,)])

        search = self.search(ledger, posted, voided, untouched, intent_id=intent_id)
        found = ledger.find_resolutions(search).transfers

        by_id = {transfer.id: transfer for transfer in found}
        assert {post.id, void.id} <= by_id.keys()
        assert (by_id[post.id].pending_id, by_id[post.id].amount) == (posted, 4)
        assert by_id[void.id].flags & TransferFlags.VOID_PENDING_TRANSFER
        assert untouched not in {transfer.pending_id for transfer in found}

    def test_a_resolution_that_carries_other_user_data_is_found(
        self, ledger: Ledger, bank: Bank, payer: AccountId, payee: AccountId
    ) -> None:
        intent_id = IntentId(uuid4())
        pending_id = bank.freeze(payer, payee, 10, user_data_128=intent_id.int)
        post = replace(post_of(pending_id), user_data_128=12345)
        ledger.create_chains([(post,)])

        search = self.search(ledger, pending_id, intent_id=intent_id)

        assert post.id in self.ids_found(ledger, search)

    def test_a_fee_that_carries_the_intents_id_is_found(
        self, ledger: Ledger, bank: Bank, payer: AccountId, payee: AccountId
    ) -> None:
        intent_id = IntentId(uuid4())
        pending_id = bank.freeze(payer, payee, 10)
        fee = replace(payment(payer, payee, 2, code=FEE_CODE), user_data_128=intent_id.int)
        ledger.create_chains([(fee,)])

        search = self.search(ledger, pending_id, intent_id=intent_id)

        assert fee.id in self.ids_found(ledger, search)

    def test_a_fee_just_after_the_resolution_is_found(
        self, ledger: Ledger, bank: Bank, payer: AccountId, payee: AccountId
    ) -> None:
        nostro = bank.open_account(ledger=LEDGER)
        pending_id = bank.freeze(payer, payee, 10)
        post = post_of(pending_id)
        fee = payment(payer, nostro, 2, code=FEE_CODE)
        # One chain is never split over two requests, so the two are neighbours in time.
        ledger.create_chains([close_chain((post, fee))])

        search = self.search(ledger, pending_id, intent_id=IntentId(uuid4()), nostro=nostro)

        assert {post.id, fee.id} <= self.ids_found(ledger, search)

    def test_a_fee_of_the_next_request_is_not_taken_for_the_resolutions(
        self, ledger: Ledger, bank: Bank, payer: AccountId, payee: AccountId
    ) -> None:
        nostro = bank.open_account(ledger=LEDGER)
        pending_id = bank.freeze(payer, payee, 10)
        post = post_of(pending_id)
        fee = payment(payer, nostro, 2, code=FEE_CODE)
        ledger.create_chains([(post,)])
        ledger.create_chains([(fee,)])

        search = self.search(ledger, pending_id, intent_id=IntentId(uuid4()), nostro=nostro)
        found = ledger.find_resolutions(search).transfers

        by_id = {transfer.id: transfer for transfer in found}
        stored_fee = ledger.lookup([fee.id])[fee.id]
        assert stored_fee.timestamp_ns > by_id[post.id].timestamp_ns + 1
        assert fee.id not in by_id

    @pytest.mark.parametrize("carries_intent_id", [True, False])
    def test_a_search_that_has_read_everything_says_so(
        self,
        ledger: Ledger,
        bank: Bank,
        payer: AccountId,
        payee: AccountId,
        carries_intent_id: bool,
    ) -> None:
        intent_id = IntentId(uuid4())
        user_data = intent_id.int if carries_intent_id else 0
        posted, untouched = (
            bank.freeze(payer, payee, 10, user_data_128=user_data) for _ in range(2)
        )
        ledger.create_chains([(post_of(posted),)])

        for pending_ids in ((posted, untouched), (posted,), (untouched,), ()):
            search = self.search(ledger, *pending_ids, intent_id=intent_id, nostro=payee)
            found = ledger.find_resolutions(search)
            assert found.has_all_resolvers
            assert found.has_all_fees
