"""Reconciling on the fakes."""

import pytest

from tests.contracts.reconciling import Desk, ReconcilingContract
from tests.unit.application.memory_desk import a_desk


@pytest.fixture
def desk() -> Desk:
    return a_desk()


class TestReconciling(ReconcilingContract):
    """Each fault, and only that one."""
