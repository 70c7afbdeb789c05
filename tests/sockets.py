"""The sockets of a process, as /proc shows them."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path

LISTEN = "0A"


def open_files(pid: int) -> Iterator[str]:
    """What each of the process's file descriptors refers to."""
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        try:
            yield str(descriptor.readlink())
        except OSError:  # closed meanwhile
            continue


def connections(pid: int, port: int) -> set[str]:
    """The process's sockets that are connected to the port."""
    return {socket for socket, _, remote, _ in _sockets(pid) if int(remote.rpartition(":")[2], 16) == port}


def listening(pid: int) -> set[IPv4Address | IPv6Address]:
    """The addresses at which the process listens."""
    return {_address(local.partition(":")[0]) for _, local, _, state in _sockets(pid) if state == LISTEN}


def _sockets(pid: int) -> list[tuple[str, str, str, str]]:
    """Each TCP socket of the process: its name, local and remote address, and state."""
    own, found = set(open_files(pid)), []
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if (name := f"socket:[{fields[9]}]") in own:
                found.append((name, fields[1], fields[2], fields[3]))
    return found


def _address(spelled: str) -> IPv4Address | IPv6Address:
    """Reads an address of /proc: words of four bytes in the order of the machine."""
    words = [bytes.fromhex(spelled[at : at + 8])[::-1] for at in range(0, len(spelled), 8)]
    found = ip_address(b"".join(words))
    return found.ipv4_mapped or found if isinstance(found, IPv6Address) else found
