"""Would the worker's own statements be accepted?"""

from adapters.postgres.connection import BoundedConnection
from adapters.postgres.rehearsal import rehearse
from application.errors import OutboxError
from domain.findings import Examined, Finding
from domain.sanitising import sanitise


def statements(connection: BoundedConnection, examined: Examined) -> Finding:
    """Does the database accept the statements of claiming and settling?

    Raises:
        DatabaseUnavailableError: the connection was lost.
    """
    try:
        with connection.begun():
            rehearse(connection)
    except OutboxError as error:
        if connection.closed:
            raise
        return examined.red(
            "statements",
            sanitise(str(error)),
            "a column of another type, or a right on some columns only: compare the table with"
            " migrations/0001_payment_manager.sql",
        )
    return examined.ok("statements", "those of claiming and settling are accepted")
