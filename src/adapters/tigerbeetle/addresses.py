"""Turn the setting ``TIGERBEETLE_ADDRESSES`` into addresses that the client takes.

The client takes numbers only: ``3000``, ``10.0.0.1:3000``, ``[::1]:3000``. Names are
resolved each time a client is made, so that a replica may come back at another address.
"""

import ipaddress
import re
import socket
from collections.abc import Callable, Sequence

from application.errors import LedgerMisconfiguredError, LedgerUnavailableError

PORT_DEFAULT = 3001
"""TigerBeetle's own default, for an address without a port."""

_PORT_MAX = 2**16 - 1
_HOST_NAME = re.compile(r"[A-Za-z0-9._-]+")
_FORMS = "a comma-separated list of host:port, 10.0.0.1:3000 or [::1]:3000, one for each replica"

HostLookup = Callable[[str], Sequence[str]]
"""Returns the numeric addresses of a host name; raises ``OSError`` when there are none."""


def host_addresses(host: str) -> Sequence[str]:
    """Ask the system's resolver for the addresses of *host*."""
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return [str(address[0]) for *_, address in found]


def address_fault(addresses: str) -> str | None:
    """Return what is wrong with the form of *addresses*, without resolving any name; or None."""
    try:
        resolve_addresses(addresses, look_up=lambda _: ["127.0.0.1"])
    except LedgerMisconfiguredError as error:
        return str(error).removeprefix("TIGERBEETLE_ADDRESSES: ")
    return None


def resolve_addresses(addresses: str, *, look_up: HostLookup = host_addresses) -> str:
    """Return *addresses* in the same order with every host name resolved.

    A name with several addresses gives the first, IPv4 before IPv6.

    Raises:
        LedgerMisconfiguredError: an entry is not an address at all.
        LedgerUnavailableError: a name does not resolve now.
    """
    return ",".join(_resolve(entry.strip(), look_up) for entry in addresses.split(","))


def _resolve(entry: str, look_up: HostLookup) -> str:
    if entry.isascii() and entry.isdigit():
        return str(_port(entry, entry))
    host, port = _split(entry)
    if entry.startswith("["):
        return f"[{_ipv6(host, entry)}]:{port}"
    try:
        return f"{ipaddress.IPv4Address(host)}:{port}"
    except ValueError:
        return _look_up(host, port, entry, look_up)


def _split(entry: str) -> tuple[str, int]:
    if entry.startswith("["):
        host, bracket, rest = entry[1:].partition("]")
        if not bracket or (rest and not rest.startswith(":")):
            raise _malformed(entry)
        port_text = rest[1:] if rest else None
    else:
        host, colon, rest = entry.partition(":")
        port_text = rest if colon else None
    if not host:
        raise _malformed(entry)
    return host, PORT_DEFAULT if port_text is None else _port(port_text, entry)


def _port(text: str, entry: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(_PORT_MAX))):
        raise _malformed(entry)
    port = int(text)
    if not 0 < port <= _PORT_MAX:
        raise _malformed(entry)
    return port


def _ipv6(host: str, entry: str) -> str:
    try:
        return str(ipaddress.IPv6Address(host))
    except ValueError as error:
        raise _malformed(entry) from error


def _look_up(host: str, port: int, entry: str, look_up: HostLookup) -> str:
    if not _HOST_NAME.fullmatch(host):
        raise _malformed(entry)
    try:
        found = look_up(host)
    except UnicodeError as error:  # a label is empty, or too long
        raise _malformed(entry) from error
    except OSError as error:
        raise LedgerUnavailableError(
            f"TIGERBEETLE_ADDRESSES: {host!r} does not resolve: {error.strerror or error}"
        ) from error
    # The client takes no scope, as in fe80::1%eth0.
    usable = [ipaddress.ip_address(address) for address in found if "%" not in address]
    if not usable:
        raise LedgerUnavailableError(f"TIGERBEETLE_ADDRESSES: {host!r} has no usable address")
    best = min(usable, key=lambda address: address.version)
    return f"[{best}]:{port}" if best.version == 6 else f"{best}:{port}"


def _malformed(entry: str) -> LedgerMisconfiguredError:
    return LedgerMisconfiguredError(
        f"TIGERBEETLE_ADDRESSES: {entry!r} is no address; give {_FORMS}"
    )
