"""Replays: whoever died, and wherever, money moves once and the fee is charged once."""

from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

import pytest

from application.errors import DatabaseUnavailableError
from application.ports.outbox_repository import ClaimedBatch, OutboxRepository
from domain.intents import Action
from domain.transfers import AMOUNT_MAX, AccountId, Transfer
from tests.contracts.database_bench import DatabaseBench
from tests.contracts.settling import (
    CHAINS,
    assert_failed,
    assert_in_review,
    assert_settled,
    assert_waiting,
)
from tests.contracts.wallet import POST, VOID, Case, Wallet, post_by_other, void_by_other


@dataclass(frozen=True, slots=True)
class DyingOutbox:
    """An outbox whose worker dies at the end of the claim, before or after the commit."""

    outbox: OutboxRepository
    commits: bool

    def rehearse(self) -> None:
        """See the port."""
        self.outbox.rehearse()

    def some_mapped_accounts(self, *, limit: int) -> Collection[AccountId]:
        """See the port."""
        return self.outbox.some_mapped_accounts(limit=limit)

    def claim(self, *, limit: int) -> AbstractContextManager[ClaimedBatch]:
        """See the port."""
        return self._claim(limit)

    @contextmanager
    def _claim(self, limit: int) -> Iterator[ClaimedBatch]:
        with self.outbox.claim(limit=limit) as batch:
            yield batch
            if not self.commits:
                raise DatabaseUnavailableError("died before the commit")
        raise DatabaseUnavailableError("died before the commit's answer")


def die_after_the_chain(wallet: Wallet) -> None:
    """The chain is applied; nothing else happens."""
    wallet.settle_and_die_after(ledger_calls=1)


def die_after_the_fee(wallet: Wallet) -> None:
    """Chain and fee are applied; nothing else happens."""
    wallet.settle_and_die_after(ledger_calls=2)


def die_before_the_commit(wallet: Wallet) -> None:
    """All is written, and rolled back."""
    with pytest.raises(DatabaseUnavailableError):
        wallet.settle(outbox=DyingOutbox(wallet.bench.outbox, commits=False))


DEATHS = (die_after_the_chain, die_after_the_fee, die_before_the_commit)


def sent(wallet: Wallet) -> list[object]:
    """Return each chain that was sent so far."""
    return [
        chain
        for call in wallet.ledger.calls
        if call.method == "create_chains"
        for chain in call.argument
    ]


class ReplayContract:
    """Inherit; provide ``wallet`` and ``other_database``, an empty second database."""

    @pytest.mark.parametrize("die", DEATHS)
    @pytest.mark.parametrize("frozen", CHAINS)
    def test_a_post_is_taken_up_wherever_the_worker_died(
        self, wallet: Wallet, frozen: tuple[int, ...], die: Callable[[Wallet], None]
    ) -> None:
        case = wallet.add_case(POST, frozen=frozen, fee_satang=7)

        die(wallet)

        assert_waiting(wallet, case, retry_count=0)
        first_attempt = sent(wallet)
        wallet.settle()
        assert wallet.fees_satang() == 7
        assert wallet.lines(case) == [(0, "PRINCIPAL", sum(frozen)), (1, "PSP_FEE", 7)]
        assert sent(wallet)[len(first_attempt)] == first_attempt[0], "the same ids, first of all"
        assert_settled(wallet, case, posted_satang=sum(frozen))

    @pytest.mark.parametrize("die", [die_after_the_chain, die_before_the_commit])
    @pytest.mark.parametrize("frozen", CHAINS)
    def test_a_void_is_taken_up_wherever_the_worker_died(
        self, wallet: Wallet, frozen: tuple[int, ...], die: Callable[[Wallet], None]
    ) -> None:
        case = wallet.add_case(VOID, frozen=frozen)

        die(wallet)

        assert_waiting(wallet, case, retry_count=0)
        wallet.settle()
        assert_failed(wallet, case)

    @pytest.mark.parametrize("action", [POST, VOID])
    def test_a_lost_commit_answer_repeats_no_effect(self, wallet: Wallet, action: Action) -> None:
        case = wallet.add_case(action, fee_satang=7)

        with pytest.raises(DatabaseUnavailableError):
            wallet.settle(outbox=DyingOutbox(wallet.bench.outbox, commits=True))
        wallet.settle()

        assert wallet.event_status(case) == "processed"
        assert wallet.intent_status(case) == action.final_status
        assert wallet.audit_trail(case) == [("AUTHORIZED", action.final_status)]
        assert wallet.told(case) == [action.final_status]
        assert wallet.announced() == [], "the live status is best-effort"

    @pytest.mark.parametrize("member", [0, 1, 2])
    def test_a_replay_finds_ours_beside_what_others_posted(
        self, wallet: Wallet, member: int
    ) -> None:
        frozen = (100, 20, 3)
        case = wallet.add_case(POST, frozen=frozen, fee_satang=7)
        wallet.create(post_by_other(case.pending_ids[member], frozen[member]))
        wallet.settle_and_die_after(ledger_calls=4)

        wallet.settle()

        assert wallet.fees_satang() == 0
        assert_settled(wallet, case, posted_satang=123)

    @pytest.mark.parametrize("die", DEATHS)
    def test_many_deaths_in_a_row_charge_one_fee(
        self, wallet: Wallet, die: Callable[[Wallet], None]
    ) -> None:
        cases = [wallet.add_case(POST, frozen=(100, 20), fee_satang=7) for _ in range(5)]

        for _ in range(3):
            die(wallet)
        wallet.settle()

        assert wallet.fees_satang() == 5 * 7
        assert [wallet.intent_status(case) for case in cases] == ["SETTLED"] * 5

    # Several events, several databases.

    @pytest.mark.parametrize("action", [POST, VOID])
    def test_a_second_event_that_agrees_is_finished_and_changes_nothing(
        self, wallet: Wallet, action: Action
    ) -> None:
        case = wallet.add_case(action, frozen=(100, 20), fee_satang=7)
        second = wallet.bench.add_event(case.intent_id, action, created_after_s=1)

        wallet.settle()
        assert wallet.bench.event(second).status == "pending", "never two of an intent at once"
        wallet.settle()

        assert wallet.bench.event(second).status == "processed"
        if action is POST:
            assert wallet.fees_satang() == 7
            assert_settled(wallet, case, posted_satang=120)
        else:
            assert_failed(wallet, case)

    @pytest.mark.parametrize(("first", "second"), [(POST, VOID), (VOID, POST)])
    def test_a_second_event_that_contradicts_needs_a_person(
        self, wallet: Wallet, first: Action, second: Action
    ) -> None:
        case = wallet.add_case(first)
        contradiction = wallet.bench.add_event(case.intent_id, second, created_after_s=1)

        wallet.settle_until_idle()

        assert wallet.event_status(case) == "processed"
        assert wallet.bench.event(contradiction).status == "failed"
        assert wallet.audit_trail(case) == [
            ("AUTHORIZED", first.final_status),
            (first.final_status, "MANUAL_REVIEW"),
        ]
        assert wallet.told(case) == [first.final_status]
        assert wallet.posted_satang(case) == (100 if first is POST else 0)

    @pytest.mark.parametrize("action", [POST, VOID])
    def test_a_final_intent_still_has_its_money_resolved(
        self, wallet: Wallet, action: Action
    ) -> None:
        case = wallet.add_case(action, fee_satang=7, status=str(action.final_status))

        wallet.settle()

        assert wallet.event_status(case) == "processed"
        assert wallet.frozen_satang(case) == 0
        assert wallet.posted_satang(case) == (100 if action is POST else 0)
        assert wallet.audit_trail(case) == []
        assert wallet.lines(case) == []
        assert wallet.told(case) == []
        assert wallet.announced() == []

    def test_two_databases_on_one_ledger_move_the_money_and_charge_the_fee_once(
        self, wallet: Wallet, other_database: DatabaseBench
    ) -> None:
        case = wallet.add_case(POST, frozen=(100, 20), fee_satang=7)
        other = wallet.on(other_database)
        # A restored copy: its serials start somewhere else.
        for _ in range(3):
            other_database.add_event(other.add_case(POST).intent_id, status="failed")
        copy = other.store(
            case.intent, POST, psp=case.psp, payload_json=None, accounts=(case.payer, case.payee)
        )

        wallet.settle()
        other.settle_until_idle()

        assert copy.event_id != case.event_id
        assert wallet.fees_satang() == 7
        assert other.lines(copy) == wallet.lines(case)
        assert other.intent_status(copy) == wallet.intent_status(case) == "SETTLED"
        assert wallet.posted_satang(case) == 120

    # Chains that are rebuilt.

    @pytest.mark.parametrize("gone", [0, 1, 2])
    @pytest.mark.parametrize("action", [POST, VOID])
    def test_a_rebuilt_chain_never_merges_with_its_neighbour(
        self, wallet: Wallet, action: Action, gone: int
    ) -> None:
        frozen = (100, 20, 3)
        before, rebuilt, after = (wallet.add_case(action, frozen=frozen) for _ in range(3))
        wallet.create(resolve_by_other(action, rebuilt, gone, frozen))
        # The neighbours are refused: a chain that merged with one would be rolled back.
        for neighbour in (before, after):
            wallet.create(contradict(action, neighbour, frozen))

        wallet.settle()

        for neighbour in (before, after):
            assert wallet.intent_status(neighbour) == "MANUAL_REVIEW"
            assert wallet.frozen_satang(neighbour) == sum(frozen[1:]), "nothing of it was applied"
        assert wallet.intent_status(rebuilt) == action.final_status
        assert wallet.frozen_satang(rebuilt) == 0
        assert wallet.posted_satang(rebuilt) == (123 if action is POST else 0)

    def test_a_refused_chain_leaves_the_chains_around_it_alone(self, wallet: Wallet) -> None:
        cases = [wallet.add_case(POST, frozen=(100, 20)) for _ in range(5)]
        wallet.create(void_by_other(cases[2].pending_ids[1]))

        wallet.settle()

        for position, case in enumerate(cases):
            if position != 2:
                assert wallet.intent_status(case) == "SETTLED"
                assert wallet.posted_satang(case) == 120
        wallet.announced()
        assert_in_review(wallet, cases[2])

    # Searches that end early: the ledger answers, and has too much to tell.

    def test_a_fee_that_another_charged_meanwhile_is_not_charged_again_where_it_is_not_found(
        self, wallet: Wallet
    ) -> None:
        case = wallet.add_case(POST, fee_satang=7)
        die_after_the_chain(wallet)
        wallet.create(wallet.a_fee(7, user_data_128=case.intent_id.int))
        wallet.ledger.searches_end_early = True

        wallet.settle()

        assert_waiting(wallet, case)
        assert "the search ended early" in wallet.last_error(case)
        assert wallet.fees_satang() == 7
        wallet.ledger.searches_end_early = False
        wallet.let_backoff_pass()
        wallet.settle()
        assert_settled(wallet, case, posted_satang=100)
        assert wallet.fees_satang() == 7

    def test_what_another_posted_waits_for_a_search_that_finds_it(self, wallet: Wallet) -> None:
        case = wallet.add_case(POST, frozen=(100, 20), fee_satang=7)
        wallet.create(post_by_other(case.pending_ids[0], AMOUNT_MAX))
        wallet.ledger.searches_end_early = True

        wallet.settle()

        assert_waiting(wallet, case)
        assert "by whom is not found: the search ended early" in wallet.last_error(case)
        wallet.ledger.searches_end_early = False
        wallet.let_backoff_pass()
        wallet.settle()
        assert_settled(wallet, case, posted_satang=120)
        assert wallet.fees_satang() == 0


def resolve_by_other(action: Action, case: Case, member: int, frozen: tuple[int, ...]) -> Transfer:
    """Return what *action* would do to one member, with an id that is not ours."""
    pending_id = case.pending_ids[member]
    return (
        post_by_other(pending_id, frozen[member]) if action is POST else void_by_other(pending_id)
    )


def contradict(action: Action, case: Case, frozen: tuple[int, ...]) -> Transfer:
    """Return what makes *action* impossible for the first member."""
    return resolve_by_other(VOID if action is POST else POST, case, 0, frozen)
