# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""The router on its own: two or three of them on this machine, with real certificates, no cluster."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import pytest
from skupper_standin import pki, router

HOST = "127.0.0.1"


class Site:
    """One router with its Secrets."""

    def __init__(self, name: str, **config: Any) -> None:
        self.router = router.Router()
        self.config: dict[str, Any] = {"site": {"id": f"uid-{name}", "name": name}, "profiles": {}, **config}
        self.materials: dict[str, router.Material] = {}

    def secret(self, name: str, data: pki.Data, *, prior: int = 2) -> str:
        """Give the router new data for a Secret, as the controller and kube-adaptor do; returns its serial."""
        old = self.config["profiles"].get(name, {"ordinal": -1, "oldest": 0})
        ordinal = old["ordinal"] + 1
        self.config["profiles"][name] = {"ordinal": ordinal, "oldest": max(old["oldest"], ordinal - prior)}
        parts = [pki.field({"data": data}, part).decode() for part in ("tls.crt", "tls.key", "ca.crt")]
        self.materials[name] = router.Material(name, ordinal, *parts)
        self.apply()
        return self.materials[name].serial

    def apply(self, **config: Any) -> None:
        """Change the configuration."""
        self.config = {**self.config, **config}
        self.router.apply(self.config, dict(self.materials))

    def wires(self, kind: str) -> list[tuple[str, str]]:
        """Serials (own, other's) of the connections of a kind."""
        found = [one for one in self.router.state()["connections"] if one["kind"] == kind]
        return [(one["localSerial"], one["peerSerial"]) for one in found]

    @property
    def up(self) -> list[str]:
        """Names of the links that are up."""
        return [one["name"] for one in self.router.state()["links"] if one["status"] == "up"]


def free_port() -> int:
    """A port that nobody uses."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


async def until(step: Callable[[], object], seconds: float = 8.0) -> None:
    """Wait until ``step`` is true."""
    for _try in range(int(seconds / 0.02)):
        if step():
            return
        await asyncio.sleep(0.02)
    raise AssertionError(f"not within {seconds:.0f} s")


@contextlib.asynccontextmanager
async def echo() -> AsyncIterator[int]:
    """A server that sends back what it gets, in capitals, and closes when the client has finished."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while piece := await reader.read(65536):
            writer.write(piece.upper())
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, HOST, 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


async def say(port: int, text: bytes) -> bytes:
    """What comes back for ``text`` and the end after it."""
    reader, writer = await asyncio.open_connection(HOST, port)
    try:
        writer.write(text)
        writer.write_eof()
        return await asyncio.wait_for(reader.read(), 5)
    finally:
        writer.close()


def play(scene: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run a test's coroutine."""
    asyncio.run(asyncio.wait_for(scene(), 20))


class Pair:
    """A hub with an echo server, and a site with a listener, linked."""

    def __init__(self, target: int) -> None:
        self.ca = pki.make("hub site CA")
        self.access, self.listener = free_port(), free_port()
        self.hub = Site("hub")
        self.server = self.hub.secret("server", pki.make("skupper-router", [HOST], {"data": self.ca}))
        self.hub.apply(
            accesses=[{"name": "inter-router", "port": self.access, "profile": "server"}],
            connectors=[{"name": "c", "key": "fleet", "host": HOST, "port": target}],
        )
        self.site = Site("site")
        self.client = self.site.secret("link", pki.make("site", [], {"data": self.ca}))
        link = {"name": "to-hub", "host": HOST, "port": str(self.access), "profile": "link"}
        self.site.apply(links=[link], listeners=[{"name": "l", "keys": ["fleet"], "port": self.listener}])

    async def __aenter__(self) -> Pair:
        await until(lambda: self.site.up and self.site.router._best("to-hub").reach)
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.site.router.stop()
        await self.hub.router.stop()


def test_bytes_pass_and_both_ends_show_their_certificates() -> None:
    async def scene() -> None:
        async with echo() as target, Pair(target) as pair:
            assert await say(pair.listener, b"x" * 5_000_000) == b"X" * 5_000_000
            assert pair.site.wires("control") == [(pair.client, pair.server)]
            assert pair.hub.wires("control") == [(pair.server, pair.client)]
            assert pair.hub.router.state()["inbound"] == ["uid-site"]
            assert pair.site.router.state()["links"][0]["remoteSite"] == "uid-hub"

    play(scene)


def test_what_was_sent_before_the_end_arrives() -> None:
    """A target that sends much and closes at once, to a client that is slow."""

    async def scene() -> None:
        async def serve(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"y" * 2_000_000)
            writer.close()

        server = await asyncio.start_server(serve, HOST, 0)
        async with server, Pair(server.sockets[0].getsockname()[1]) as pair:
            reader, writer = await asyncio.open_connection(HOST, pair.listener)
            await asyncio.sleep(0.5)
            assert len(await asyncio.wait_for(reader.read(), 5)) == 2_000_000
            writer.close()

    play(scene)


def test_serials_are_those_of_the_certificates() -> None:
    data = pki.make("any", ["name"])
    pem = pki.field({"data": data}, "tls.crt").decode()
    assert router.serial_of(pem) == pki.serial({"data": data})


def test_a_new_client_certificate_takes_new_streams_and_leaves_the_old() -> None:
    """§3: rotation without a cut; with 2 prior revisions the third change ends the first's streams."""

    async def scene() -> None:
        async with echo() as target, Pair(target) as pair:
            reader, writer = await asyncio.open_connection(HOST, pair.listener)
            writer.write(b"a")
            assert await reader.read(1) == b"A"
            new = pair.site.secret("link", pki.make("site", [], {"data": pair.ca}))
            await until(lambda: (new, pair.server) in pair.site.wires("control"))
            assert pair.site.up == ["to-hub"]
            assert pair.site.wires("flow") == [(pair.client, pair.server)]
            assert (pair.client, pair.server) in pair.site.wires("control")
            assert await say(pair.listener, b"b") == b"B"
            writer.write(b"c")
            assert await reader.read(1) == b"C"
            for _change in range(2):
                last = pair.site.secret("link", pki.make("site", [], {"data": pair.ca}))
            await until(lambda: pair.site.wires("control") == [(last, pair.server)])
            with contextlib.suppress(ConnectionError):
                assert await reader.read(1) == b""
            writer.close()

    play(scene)


def test_an_old_connection_goes_with_its_last_stream() -> None:
    async def scene() -> None:
        async with echo() as target, Pair(target) as pair:
            reader, writer = await asyncio.open_connection(HOST, pair.listener)
            writer.write(b"a")
            assert await reader.read(1) == b"A"
            new = pair.site.secret("link", pki.make("site", [], {"data": pair.ca}))
            await until(lambda: len(pair.site.wires("control")) == 2)
            writer.close()
            await until(lambda: pair.site.wires("control") == [(new, pair.server)])
            await until(lambda: pair.hub.wires("control") == [(pair.server, new)])

    play(scene)


def test_a_bad_new_certificate_leaves_the_link_up_on_the_old() -> None:
    async def scene() -> None:
        async with echo() as target, Pair(target) as pair:
            stranger = pki.make("site", [], {"data": pki.make("another CA")})
            pair.site.secret("link", {**stranger, "ca.crt": pair.ca["tls.crt"]})
            await until(lambda: pair.site.router.errors.get("to-hub"))
            assert pair.site.wires("control") == [(pair.client, pair.server)]

    play(scene)


def test_a_removed_authority_with_no_prior_revisions_cuts_its_site_only() -> None:
    """§2c (b): one authority per site; dropping one from ca.crt with 0 prior revisions revokes that site."""

    async def scene() -> None:
        async with echo() as target:
            first, second = pki.make("CA of a"), pki.make("CA of b")
            bundle = pki.encode(pki.field({"data": first}, "tls.crt") + pki.field({"data": second}, "tls.crt"))
            server_ca = pki.make("server CA")
            server = {**pki.make("skupper-router", [HOST], {"data": server_ca}), "ca.crt": bundle}
            hub, port = Site("hub"), free_port()
            hub.secret("server", server)
            hub.apply(
                accesses=[{"name": "inter-router", "port": port, "profile": "server"}],
                connectors=[{"name": "c", "key": "fleet", "host": HOST, "port": target}],
            )
            sites = []
            for name, ca in (("a", first), ("b", second)):
                site = Site(name)
                client = pki.make(name, [], {"data": ca})
                site.secret("link", {**client, "ca.crt": server_ca["tls.crt"]})
                site.apply(links=[{"name": f"from-{name}", "host": HOST, "port": port, "profile": "link"}])
                sites.append(site)
            await until(lambda: all(site.up for site in sites))
            hub.secret("server", {**server, "ca.crt": second["tls.crt"]}, prior=0)
            await until(lambda: sites[1].up and not sites[0].up and sites[0].router.errors)
            await asyncio.sleep(0.2)
            assert hub.router.state()["inbound"] == ["uid-b"]
            for site in (*sites, hub):
                await site.router.stop()

    play(scene)


@pytest.mark.parametrize("names", [["other.example"], []])
def test_the_name_of_the_other_end_is_verified(names: list[str]) -> None:
    async def scene() -> None:
        async with echo() as target, Pair(target) as pair:
            pair.hub.secret("server", pki.make("skupper-router", names, {"data": pair.ca}), prior=0)
            await until(lambda: "has no DNS name" in pair.site.router.errors.get("to-hub", ""))
            assert not pair.site.up

    play(scene)


def test_an_address_counts_only_as_a_dns_name() -> None:
    """§3: the router ignores addresses among the names of a certificate."""
    assert not router.names_host({"subjectAltName": (("IP Address", "10.0.0.1"),)}, "10.0.0.1")
    assert router.names_host({"subjectAltName": (("DNS", "10.0.0.1"),)}, "10.0.0.1")
    assert router.names_host({"subjectAltName": (("DNS", "*.example"),)}, "a.example")


def test_streams_go_against_the_direction_of_links_and_through_a_third_site() -> None:
    async def scene() -> None:
        async with echo() as target, Pair(target) as pair:
            back, beyond = free_port(), free_port()
            pair.site.apply(connectors=[{"name": "c", "key": "back", "host": HOST, "port": target}])
            pair.hub.apply(listeners=[{"name": "l", "keys": ["none", "back"], "port": back}])
            third = Site("third")
            third.secret("link", pki.make("third", [], {"data": pair.ca}))
            link = {"name": "hub", "host": HOST, "port": pair.access, "profile": "link"}
            third.apply(links=[link], listeners=[{"name": "l", "keys": ["back"], "port": beyond}])
            await until(lambda: third.up and "back" in third.router._best("hub").reach)
            assert await say(back, b"one") == b"ONE"
            assert await say(beyond, b"two") == b"TWO"
            await third.router.stop()

    play(scene)


def test_a_listener_without_a_connector_closes_at_once() -> None:
    async def scene() -> None:
        async with echo() as target, Pair(target) as pair:
            pair.hub.apply(connectors=[])
            await until(lambda: not pair.site.router._best("to-hub").reach)
            with pytest.raises(ConnectionError):
                assert await say(pair.listener, b"x") == b""
                raise ConnectionError

    play(scene)
