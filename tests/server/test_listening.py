"""Where a contest may be served: this machine, or with all that others need."""

from __future__ import annotations

import pytest

from tracearena.errors import ParameterError
from tracearena.server.processes.supervisor import ServerOptions
from tracearena.server.settings import Address

NAMED = Address(hosts=("contest.example.org",))


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.1.2.3"])
def test_this_machine_needs_nothing(host: str) -> None:
    assert ServerOptions(host=host).url.startswith("http://")


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "contest.example.org", ""])
@pytest.mark.parametrize(
    ("address", "missing"),
    [
        (Address(), "--allowed-host and --certificate and --key"),
        (NAMED, "--secure"),
        (Address(secure=True), "--allowed-host"),
    ],
)
def test_others_than_this_machine_need_names_and_https(host: str, address: Address, missing: str) -> None:
    with pytest.raises(ParameterError, match=missing):
        ServerOptions(host=host, address=address)


def test_with_all_of_it_others_can_come() -> None:
    whole = Address(hosts=("contest.example.org",), secure=True)
    assert ServerOptions(host="0.0.0.0", address=whole).address is whole


def test_judges_alone_listen_nowhere() -> None:
    assert not ServerOptions(host="0.0.0.0", web=False).web


@pytest.mark.parametrize(
    "host", ["*", "https://contest.example.org", "contest.example.org:8000", "", "a b", "-"]
)
def test_a_name_that_lets_anybody_or_nobody_in_is_refused(host: str) -> None:
    """Links are made of the name that a request asks for: only names that are ours may be asked for."""
    with pytest.raises(ParameterError, match="--allowed-host"):
        Address(hosts=[host])


@pytest.mark.parametrize("host", ["contest.example.org", ".example.org", "192.0.2.1", "[2001:db8::1]", "a"])
def test_names_and_addresses_are_taken(host: str) -> None:
    assert Address(hosts=[host]).hosts == [host]


@pytest.mark.parametrize(
    "proxy", ["10.0.0.0/8", "proxy.example.org", "10.0.0.2:80", "", "*", "0:0:0:0:0:0:0:1"]
)
def test_a_proxy_that_no_request_could_come_from_is_refused(proxy: str) -> None:
    """It would be believed never, and everybody would have the address of the proxy."""
    with pytest.raises(ParameterError, match="--trusted-proxy"):
        Address(trusted_proxies=[proxy])
    assert Address(trusted_proxies=["10.0.0.2", "::1"])
