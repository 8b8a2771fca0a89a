"""Which names and addresses mean this machine."""

from __future__ import annotations

import ipaddress
import socket
from urllib.parse import urlsplit

__all__ = ["host_of", "is_loopback", "resolves_to_loopback"]


def host_of(netloc: str) -> str:
    """The host of `host:port`, lower case and without brackets; empty if it cannot be read."""
    try:
        return urlsplit(f"//{netloc}").hostname or ""
    except ValueError:
        return ""


def is_loopback(name: str) -> bool:
    """True for `localhost`, names below it, 127.0.0.0/8 and ::1; no name is looked up."""
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def resolves_to_loopback(name: str) -> bool:
    """True if every address of a name is of this machine alone. Raises OSError for a name that has none."""
    found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    return all(is_loopback(str(address[0])) for *_, address in found)
