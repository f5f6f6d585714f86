# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""The router: carries TCP from listeners to connectors, between sites through connections with mutual TLS.

The program of the router pods. One file, standard library only: it reaches the pods by a ConfigMap.

What it keeps of the real one (§3, §4, README.md): a link's connections show the certificate of the Link's Secret and
verify the other end's by the ``ca.crt`` beside it, the accepting end does the same with its own Secret; names are
compared with DNS names of certificates only; a new revision of a Secret opens a new connection for new streams, while
old ones go on until their revision is too old. What it does otherwise: each stream has a TLS connection of its own
beside the one that holds the link (the real one carries many on one), in a protocol of its own.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import contextlib
import functools
import itertools
import json
import os
import signal
import socket
import ssl
import sys
import tempfile
import threading
import time
import urllib.parse
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from http.client import HTTPException, HTTPSConnection
from pathlib import Path
from typing import Any, Optional

PING = 2.0  # seconds between signs of life on a link
DEAD = 6.0  # seconds without one
DIAL = 5.0  # seconds for a connection to come about
RETRY = 1.0  # seconds between tries to link
HOPS = 8
HEALTH_PORT = 9090
ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
CONTEXT = "internal.skupper.io/tls-profile-context"  # annotation of Secrets: which revision their data is
Json = dict[str, Any]


def log(text: str) -> None:
    """One line."""
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


def serial_of(pem: str) -> str:
    """Serial number of the first certificate of ``pem``, in hexadecimal, read from its DER."""
    body = pem.split("-----BEGIN CERTIFICATE-----", 1)[1].split("-----END", 1)[0]
    der = binascii.a2b_base64(body)

    def content(at: int) -> tuple[int, int]:
        size = der[at + 1]
        if size < 0x80:
            return at + 2, size
        count = size & 0x7F
        return at + 2 + count, int.from_bytes(der[at + 2 : at + 2 + count], "big")

    at = content(content(0)[0])[0]  # certificate, then what is signed in it
    if der[at] == 0xA0:  # version
        begin, size = content(at)
        at = begin + size
    begin, size = content(at)
    return format(int.from_bytes(der[begin : begin + size], "big"), "x")


class Material:
    """One revision of a TLS Secret."""

    def __init__(self, profile: str, ordinal: int, certificate: str, key: str, authorities: str) -> None:
        self.profile, self.ordinal = profile, ordinal
        self.serial = serial_of(certificate)
        self.server = self._context(ssl.PROTOCOL_TLS_SERVER, certificate, key, authorities)
        self.client = self._context(ssl.PROTOCOL_TLS_CLIENT, certificate, key, authorities)

    @staticmethod
    def _context(side: int, certificate: str, key: str, authorities: str) -> ssl.SSLContext:
        context = ssl.SSLContext(side)
        context.check_hostname = False  # names are compared by ``names_host``, as the router does
        context.verify_mode = ssl.CERT_REQUIRED
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.load_verify_locations(cadata=authorities)
        with tempfile.NamedTemporaryFile("w") as file:  # 0600; the module takes files only
            file.write(f"{certificate}\n{key}\n")
            file.flush()
            context.load_cert_chain(file.name)
        return context


def names_host(certificate: Json, host: str) -> bool:
    """Whether a certificate (as ``getpeercert`` gives it) has ``host`` among its DNS names; addresses do not count."""
    for kind, name in certificate.get("subjectAltName", ()):
        if kind == "DNS" and (
            name.lower() == host.lower() or (name[:2] == "*." and name[1:] == host[host.find(".") :])
        ):
            return True
    return False


class End:
    """One end of a stream: pieces of bytes in and out; an empty piece is the end of that direction."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, framed: bool) -> None:
        self.reader, self.writer, self.framed = reader, writer, framed

    async def read(self) -> bytes:
        """The next piece. TLS knows no half-closed connections, so there pieces have a length before them."""
        if not self.framed:
            return await self.reader.read(65536)
        size = int.from_bytes(await self.reader.readexactly(4), "big")
        return await self.reader.readexactly(size)

    async def write(self, piece: bytes) -> None:
        """Send a piece."""
        if self.framed:
            self.writer.write(len(piece).to_bytes(4, "big") + piece)
        elif piece:
            self.writer.write(piece)
        else:
            self.writer.write_eof()
        await self.writer.drain()


async def carry(left: End, right: End) -> None:
    """Move bytes both ways until both directions have ended, or one end breaks; then close both."""

    async def one_way(source: End, target: End) -> None:
        while True:
            piece = await source.read()
            await target.write(piece)
            if not piece:
                return

    ways = [asyncio.ensure_future(one_way(left, right)), asyncio.ensure_future(one_way(right, left))]
    try:
        done, _others = await asyncio.wait(ways, return_when=asyncio.FIRST_EXCEPTION)
        for way in done:
            with contextlib.suppress(OSError, asyncio.IncompleteReadError):
                way.result()
    finally:
        for way in ways:
            way.cancel()
        await asyncio.gather(*ways, return_exceptions=True)
        for end in (left, right):
            end.writer.close()
        # what is still to be sent is sent, and a broken end is no error any more
        closing = [asyncio.ensure_future(end.writer.wait_closed()) for end in (left, right)]
        try:
            await asyncio.wait(closing, timeout=DIAL)
        finally:
            for one in closing:
                one.cancel()
            await asyncio.gather(*closing, return_exceptions=True)


class Wire:
    """A TLS connection between two routers: a link (``control``) or a stream (``flow``)."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, material: Material, *, outward: bool
    ) -> None:
        self.reader, self.writer = reader, writer
        self.profile, self.ordinal, self.serial = material.profile, material.ordinal, material.serial
        self.outward = outward
        self.peer = writer.get_extra_info("peercert") or {}
        self.peer_serial = format(int(self.peer.get("serialNumber", "0"), 16), "x")
        self.kind, self.link, self.site, self.site_name, self.key = "", "", "", "", ""
        self.since = time.time()
        self.reach: dict[str, int] = {}  # of a link: routing keys that the other side reaches, and by how many hops
        self.seen = time.monotonic()
        self.closed = False

    def send(self, message: Json) -> None:
        """One message, a line."""
        self.writer.write(json.dumps(message).encode() + b"\n")

    async def receive(self) -> Json:
        """The next message. Raises OSError at the end."""
        line = await self.reader.readline()
        if not line:
            raise ConnectionError("closed by the other side")
        message = json.loads(line)
        if not isinstance(message, dict):
            raise ConnectionError("not a message")
        return message

    def close(self) -> None:
        """Close at once, unless it is closing: asyncio fails to abort a connection of TLS that was closed."""
        self.closed = True
        if not self.writer.transport.is_closing():
            self.writer.transport.abort()

    def describe(self) -> Json:
        """For the record."""
        return {
            "kind": self.kind,
            "direction": "out" if self.outward else "in",
            "link": self.link,
            "site": self.site,
            "key": self.key,
            "profile": self.profile,
            "ordinal": self.ordinal,
            "localSerial": self.serial,
            "peerSerial": self.peer_serial,
            "since": round(self.since, 3),
        }


class Router:
    """The router of one site. ``apply`` gives it what to do, ``state`` tells what it does."""

    def __init__(self, changed: Callable[[], None] = lambda: None) -> None:
        self.config: Json = {}
        self.materials: dict[str, Material] = {}
        self.wires: set[Wire] = set()
        self.errors: dict[str, str] = {}  # link -> why it is not up
        self._changed = changed
        self._servers: dict[tuple[str, int], asyncio.Task[None]] = {}
        self._links: dict[str, tuple[Json, asyncio.Task[None]]] = {}
        self._wake: dict[str, asyncio.Event] = {}
        self._waiting: dict[str, asyncio.Future[Wire]] = {}
        self._turn: Iterator[int] = itertools.count()
        self._tasks: set[asyncio.Task[None]] = set()

    # --- what it is told

    def apply(self, config: Json, materials: dict[str, Material]) -> None:
        """Take a configuration with the Secrets that it names; what stays the same is not touched."""
        self.config, self.materials = config, materials
        self._cut_old()
        wanted: dict[tuple[str, int], Callable[[], Coroutine[Any, Any, None]]] = {}
        for entry in config.get("accesses", []):
            wanted["access", entry["port"]] = lambda entry=entry: self._accept(entry["port"], self._inward)
        for entry in config.get("listeners", []):
            wanted["listener", entry["port"]] = lambda entry=entry: self._accept(entry["port"], self._listened)
        for place in [place for place in self._servers if place not in wanted]:
            self._servers.pop(place).cancel()
        for place, make in wanted.items():
            if place not in self._servers:
                self._servers[place] = asyncio.ensure_future(make())
        links = {entry["name"]: entry for entry in config.get("links", [])}
        for name, (entry, task) in list(self._links.items()):
            if links.get(name) != entry:
                del self._links[name]
                task.cancel()
                self.errors.pop(name, None)
                for wire in [one for one in self.wires if one.outward and one.link == name]:
                    wire.close()
        for name, entry in links.items():
            if name not in self._links:
                self._wake[name] = asyncio.Event()
                self._links[name] = (entry, asyncio.ensure_future(self._keep(entry)))
            self._wake[name].set()
        self._tell()
        self._changed()

    def _cut_old(self) -> None:
        """§3: close what was made with a revision that is no longer valid."""
        for wire in list(self.wires):
            oldest = self.config.get("profiles", {}).get(wire.profile, {}).get("oldest", 0)
            gone = wire.profile not in self.config.get("profiles", {})
            if gone or wire.ordinal < oldest:
                log(
                    f"cut {wire.kind} {wire.link or wire.site} serial={wire.serial}: revision {wire.ordinal} is too old"
                )
                wire.close()

    # --- what it tells

    def state(self) -> Json:
        """Links, connections, bindings."""
        site = self.config.get("site", {})
        links = []
        for entry in self.config.get("links", []):
            wire = self._best(entry["name"])
            links.append(
                {
                    "name": entry["name"],
                    "status": "up" if wire else "down",
                    "remoteSite": wire.site if wire else "",
                    "remoteName": wire.site_name if wire else "",
                    "error": "" if wire else self.errors.get(entry["name"], ""),
                }
            )
        return {
            "site": site,
            "links": links,
            "inbound": sorted({wire.site for wire in self._controls() if not wire.outward}),
            "connectors": self.config.get("connectors", []),
            "listeners": self.config.get("listeners", []),
            "profiles": self.config.get("profiles", {}),
            "connections": sorted((wire.describe() for wire in self.wires), key=lambda one: one["since"]),
        }

    # --- links

    def _controls(self) -> list[Wire]:
        return [wire for wire in self.wires if wire.kind == "control" and not wire.closed]

    def _best(self, link: str) -> Wire | None:
        """The newest connection of a link of our own."""
        found = [wire for wire in self._controls() if wire.outward and wire.link == link]
        return max(found, key=lambda wire: wire.ordinal, default=None)

    async def _keep(self, entry: Json) -> None:
        """Hold one link: connect, again after a loss, and anew when its Secret has a new revision."""
        name = entry["name"]
        # not only ended by being cancelled: wait_for loses that if what it waits for happens at the same moment
        while name in self._links and self._links[name][0] is entry:
            self._wake[name].clear()
            material = self.materials.get(entry["profile"])
            best = self._best(name)
            if material and (best is None or best.ordinal < material.ordinal):
                try:
                    wire = await self._dial(entry, material, {"kind": "control", "link": name})
                except (OSError, ssl.SSLError, asyncio.TimeoutError, ValueError) as error:
                    text = f"{type(error).__name__}: {error}"
                    if self.errors.get(name) != text:
                        self.errors[name] = text
                        log(f"link {name}: {text}")
                        self._changed()
                else:
                    self.errors.pop(name, None)
                    self._spawn(self._serve(wire))
                    if best is not None:
                        self._retire(best)
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._wake[name].wait(), RETRY)

    def _retire(self, old: Wire) -> None:
        """§3: an old connection lives on while streams of its revision run; the last of them takes it along."""
        if not any(wire.kind == "flow" and self._same(wire, old) for wire in self.wires):
            log(f"link {old.link}: the connection with serial={old.serial} is not needed any more")
            old.close()

    @staticmethod
    def _same(one: Wire, other: Wire) -> bool:
        return (one.outward, one.link, one.ordinal) == (other.outward, other.link, other.ordinal)

    async def _dial(self, entry: Json, material: Material, hello: Json) -> Wire:
        """Connect to the other end of a link of ours and say what for. Raises OSError, SSLError, TimeoutError."""
        host = entry["host"]
        reader, writer = await asyncio.wait_for(
            asyncio.open_connection(host, int(entry["port"]), ssl=material.client, server_hostname=host), DIAL
        )
        wire = Wire(reader, writer, material, outward=True)
        wire.kind, wire.link, wire.key = hello["kind"], entry["name"], hello.get("key", "")
        try:
            if not names_host(wire.peer, host):
                raise ConnectionError(f"the certificate of the other end has no DNS name {host}")
            wire.send({**hello, "site": self.config["site"]})
            answer = await asyncio.wait_for(wire.receive(), DIAL)
            if not answer.get("ok"):
                raise ConnectionError(str(answer.get("why", "refused")))
        except BaseException:
            wire.close()
            raise
        wire.site, wire.site_name = answer["site"]["id"], answer["site"]["name"]
        self._add(wire)
        return wire

    def _add(self, wire: Wire) -> None:
        self.wires.add(wire)
        what = f"{wire.kind} {'to' if wire.outward else 'from'} {wire.site_name} {wire.link} {wire.key}".rstrip()
        log(f"{what}: serial={wire.serial} peer={wire.peer_serial} {wire.profile}/{wire.ordinal}")
        self._changed()

    def _remove(self, wire: Wire) -> None:
        wire.close()
        if wire in self.wires:
            self.wires.discard(wire)
            log(f"{wire.kind} {'to' if wire.outward else 'from'} {wire.site_name} {wire.link} {wire.key} has ended")
            best = self._best(wire.link) if wire.outward else None
            if wire.kind == "flow" and best:
                for old in [one for one in self._controls() if one is not best and self._same(one, wire)]:
                    self._retire(old)
            if wire.outward and wire.link in self._wake:
                self._wake[wire.link].set()
            self._tell()
            self._changed()

    async def _serve(self, wire: Wire) -> None:
        """Read a link's messages until it ends."""
        beat = asyncio.ensure_future(self._beat(wire))
        try:
            self._tell()
            while True:
                message = await asyncio.wait_for(wire.receive(), DEAD)
                if "keys" in message and message["keys"] != wire.reach:
                    wire.reach = {str(key): int(hops) for key, hops in message["keys"].items()}
                    self._tell()
                if "open" in message:
                    self._spawn(self._answer(wire, message))
        except (OSError, asyncio.TimeoutError, ValueError) as error:
            if wire.outward:
                self.errors[wire.link] = str(error) or "no sign of life"
        finally:
            beat.cancel()
            self._remove(wire)

    @staticmethod
    async def _beat(wire: Wire) -> None:
        while True:
            await asyncio.sleep(PING)
            wire.send({"ping": 1})

    def _tell(self) -> None:
        """Tell every neighbour which keys are reached through here (not those that are reached through it)."""
        for wire in self._controls():
            keys = {entry["key"]: 0 for entry in self.config.get("connectors", [])}
            for other in self._controls():
                if other.site != wire.site:
                    for key, hops in other.reach.items():
                        if hops + 1 < HOPS:
                            keys[key] = min(keys.get(key, HOPS), hops + 1)
            wire.send({"keys": keys})

    # --- accepting

    async def _accept(self, port: int, handle: Callable[[Any, int], Awaitable[None]]) -> None:
        """Take TCP connections on a port for ever; a port in use is tried again."""
        loop = asyncio.get_running_loop()
        while True:
            try:
                listening = socket.create_server(("", port), backlog=100)
            except OSError as error:
                log(f"port {port}: {error}")
                await asyncio.sleep(RETRY)
                continue
            with listening:
                listening.setblocking(False)
                while True:
                    connection, _address = await loop.sock_accept(listening)
                    self._spawn(handle(connection, port))

    def _spawn(self, work: Coroutine[Any, Any, None] | Awaitable[None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception():
            log(f"error: {task.exception()!r}")

    async def _inward(self, connection: Any, port: int) -> None:
        """A connection on a port of router access: TLS with the Secret of that access, then its purpose."""
        entry = next((one for one in self.config.get("accesses", []) if one["port"] == port), None)
        material = self.materials.get(entry["profile"]) if entry else None
        if material is None:
            connection.close()
            return
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader()
        protocol = asyncio.StreamReaderProtocol(reader)
        try:
            transport, _protocol = await loop.connect_accepted_socket(
                lambda: protocol, connection, ssl=material.server, ssl_handshake_timeout=DIAL
            )
        except (OSError, ssl.SSLError) as error:
            log(f"port {port}: refused: {error}")
            connection.close()
            return
        wire = Wire(reader, asyncio.StreamWriter(transport, protocol, reader, loop), material, outward=False)
        try:
            hello = await asyncio.wait_for(wire.receive(), DIAL)
            wire.kind, wire.link, wire.key = hello["kind"], hello.get("link", ""), hello.get("key", "")
            wire.site, wire.site_name = hello["site"]["id"], hello["site"]["name"]
            if wire.kind == "control":
                wire.send({"ok": True, "site": self.config["site"]})
                self._add(wire)
                await self._serve(wire)
            elif wire.kind == "answer":
                wire.send({"ok": True, "site": self.config["site"]})
                wire.kind = "flow"
                self._add(wire)
                self._waiting.pop(wire.key).set_result(wire)
            else:
                await self._forward(wire, hello)
        except (OSError, asyncio.TimeoutError, ValueError, KeyError) as error:
            log(f"port {port}: {error!r}")
            self._remove(wire)

    # --- streams

    async def _forward(self, wire: Wire, hello: Json) -> None:
        """A stream that another router hands on to here."""
        far = await self._open(hello["key"], [*hello.get("trail", []), wire.site])
        if far is None:
            wire.send({"ok": False, "why": f"nobody connects {hello['key']}"})
            await wire.writer.drain()
            self._remove(wire)
            return
        wire.send({"ok": True, "site": self.config["site"]})
        self._add(wire)
        await self._join(End(wire.reader, wire.writer, framed=True), far, wire)

    async def _listened(self, connection: Any, port: int) -> None:
        """A client at a listener: to the first of its keys that is reached, else closed at once."""
        entry = next((one for one in self.config.get("listeners", []) if one["port"] == port), None)
        reader, writer = await asyncio.open_connection(sock=connection)
        for key in entry["keys"] if entry else []:
            far = await self._open(key, [])
            if far is not None:
                await self._join(End(reader, writer, framed=False), far, None)
                return
        writer.transport.abort()

    async def _join(self, near: End, far: tuple[End, Wire | None], wire: Wire | None) -> None:
        try:
            await carry(near, far[0])
        finally:
            for one in (wire, far[1]):
                if one is not None:
                    self._remove(one)

    async def _open(self, key: str, trail: list[str]) -> tuple[End, Wire | None] | None:
        """The other end of a stream for ``key``: a connector of this site, else through a neighbour. None: nobody."""
        targets = [entry for entry in self.config.get("connectors", []) if entry["key"] == key]
        first = next(self._turn)
        for number in range(len(targets)):
            entry = targets[(first + number) % len(targets)]
            with contextlib.suppress(OSError, asyncio.TimeoutError):
                streams = await asyncio.wait_for(asyncio.open_connection(entry["host"], entry["port"]), DIAL)
                return End(*streams, framed=False), None
        ways = [wire for wire in self._controls() if key in wire.reach and wire.site not in trail]
        for way in sorted(ways, key=lambda wire: (wire.reach[key], -wire.ordinal)):
            with contextlib.suppress(OSError, asyncio.TimeoutError, ValueError):
                wire = await self._through(way, key, [*trail, self.config["site"]["id"]])
                return End(wire.reader, wire.writer, framed=True), wire
        return None

    async def _through(self, way: Wire, key: str, trail: list[str]) -> Wire:
        """A stream through a neighbour: dialled where the link is ours, else asked for through the link."""
        if way.outward:
            entry = self._links[way.link][0]
            return await self._dial(
                entry, self.materials[entry["profile"]], {"kind": "flow", "key": key, "trail": trail}
            )
        name = f"{os.getpid()}-{next(self._turn)}"
        future: asyncio.Future[Wire] = asyncio.get_running_loop().create_future()
        self._waiting[name] = future
        try:
            way.send({"open": name, "key": key, "trail": trail})
            return await asyncio.wait_for(future, DIAL)
        finally:
            self._waiting.pop(name, None)

    async def _answer(self, way: Wire, message: Json) -> None:
        """The other end of a link of ours asks for a stream towards here."""
        far = await self._open(message["key"], message.get("trail", []))
        if far is None or way.link not in self._links:
            return
        entry = self._links[way.link][0]
        hello = {"kind": "answer", "key": message["open"]}
        wire = await self._dial(entry, self.materials[entry["profile"]], hello)
        wire.kind = "flow"
        await self._join(End(wire.reader, wire.writer, framed=True), far, wire)

    async def stop(self) -> None:
        """End everything (for tests)."""
        ended = [*self._servers.values(), *(task for _entry, task in self._links.values())]
        self._servers, self._links = {}, {}
        for task in ended:
            task.cancel()
        for wire in list(self.wires):
            self._remove(wire)
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*ended, *self._tasks, return_exceptions=True)


# --- in a pod: what the real one's kube-adaptor does


class Kube:
    """The pod's own namespace, with the pod's own rights."""

    def __init__(self) -> None:
        self.namespace = (ACCOUNT / "namespace").read_text()
        self._tls = ssl.create_default_context(cafile=str(ACCOUNT / "ca.crt"))

    def request(self, method: str, path: str, body: Json | None = None, timeout: float = 10.0) -> Any:
        """An open response; its connection ends with it."""
        host, port = os.environ["KUBERNETES_SERVICE_HOST"], int(os.environ["KUBERNETES_SERVICE_PORT"])
        connection = HTTPSConnection(host, port, timeout=timeout, context=self._tls)
        token = (ACCOUNT / "token").read_text()  # read each time: it is renewed
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        path = f"/api/v1/namespaces/{self.namespace}/{path}"
        connection.request(method, path, body and json.dumps(body), {**headers, "Connection": "close"})
        response = connection.getresponse()
        if response.status >= 400:
            text = response.read().decode(errors="replace")
            raise OSError(f"{method} {path}: {response.status} {text[:300]}")
        return response

    def follow(self, plural: str, field: str, changed: Callable[[dict[str, Json]], None]) -> None:
        """Tell all objects (by name) that a field selector chooses, for ever, after each change."""
        query = f"fieldSelector={urllib.parse.quote(field)}"
        while True:
            try:
                listing = json.load(self.request("GET", f"{plural}?{query}"))
                items = {item["metadata"]["name"]: item for item in listing["items"]}
                changed(dict(items))
                since = listing["metadata"]["resourceVersion"]
                response = self.request(
                    "GET", f"{plural}?{query}&watch=true&resourceVersion={since}&timeoutSeconds=300", timeout=320
                )
                for line in response:
                    event = json.loads(line)
                    if event["type"] == "ERROR":
                        break
                    name = event["object"]["metadata"]["name"]
                    if event["type"] == "DELETED":
                        items.pop(name, None)
                    else:
                        items[name] = event["object"]
                    changed(dict(items))
            except (OSError, HTTPException, ValueError) as error:
                log(f"{plural}: {error}")
                time.sleep(RETRY)

    def write(self, name: str, item: Json) -> None:
        """Make or replace a ConfigMap."""
        try:
            self.request("PUT", f"configmaps/{name}", item).read()
        except OSError as error:
            if " 404 " not in str(error):
                raise
            self.request("POST", "configmaps", item).read()


class Adaptor:
    """Feeds the router from its ConfigMap and the TLS Secrets that this names, and publishes its state."""

    def __init__(self, config_map: str) -> None:
        self._name = config_map
        self._kube = Kube()
        self._loop = asyncio.get_running_loop()
        self._dirty = threading.Event()
        self.router = Router(self._dirty.set)
        self._config: Json | None = None
        self._owners: list[Json] = []
        self._secrets: Optional[dict[str, Json]] = None
        self._known: dict[tuple[str, int, str], Material] = {}
        self._trouble = ""
        self.ready = False

    def start(self) -> None:
        """Begin to watch."""
        places: list[tuple[str, str, Callable[[dict[str, Json]], None]]] = [
            ("configmaps", f"metadata.name={self._name}", self._take_config),
            ("secrets", "type=kubernetes.io/tls", self._take_secrets),
        ]
        for plural, field, take in places:
            told = functools.partial(self._loop.call_soon_threadsafe, take)
            threading.Thread(target=self._kube.follow, args=(plural, field, told), daemon=True).start()
        threading.Thread(target=self._publish, daemon=True).start()

    def _take_config(self, items: dict[str, Json]) -> None:
        if self._name in items:
            self._config = json.loads(items[self._name]["data"]["router.json"])
            self._owners = items[self._name]["metadata"].get("ownerReferences", [])
            self._sync()

    def _take_secrets(self, items: dict[str, Json]) -> None:
        self._secrets = items
        self._sync()

    def _sync(self) -> None:
        """§2b: one missing TLS Secret and NOTHING of a new configuration is taken."""
        if self._config is None or self._secrets is None:
            return
        materials = {}
        for name, revision in self._config.get("profiles", {}).items():
            secret = self._secrets.get(name)
            if secret is None:
                return self._abort(f'sync aborted: secret "{name}" not found')
            try:
                known = json.loads(secret["metadata"].get("annotations", {}).get(CONTEXT, "[]"))
                ordinal = {one["profileName"]: one["ordinal"] for one in known}.get(name)
                if ordinal != revision["ordinal"]:
                    return self._abort(f"sync waits: {name} is at {ordinal}, wanted {revision['ordinal']}")
                key = (name, ordinal, secret["metadata"]["resourceVersion"])
                if key not in self._known:
                    data = {part: base64.b64decode(text).decode() for part, text in secret["data"].items()}
                    made = Material(name, ordinal, data["tls.crt"], data["tls.key"], data["ca.crt"])
                    self._known = {old: one for old, one in self._known.items() if old[0] != name}
                    self._known[key] = made
                materials[name] = self._known[key]
            except (ValueError, KeyError, IndexError, ssl.SSLError) as error:
                return self._abort(f"sync aborted: secret {name}: {error!r}")
        self._trouble = ""
        self.router.apply(self._config, materials)
        self.ready = True
        return None

    def _abort(self, text: str) -> None:
        if text != self._trouble:
            self._trouble = text
            log(text)
            self._dirty.set()

    def _publish(self) -> None:
        """Write the state to a ConfigMap after each change, at most a few times a second."""
        last = ""
        while True:
            self._dirty.wait()
            time.sleep(0.2)
            self._dirty.clear()
            asked = asyncio.run_coroutine_threadsafe(self._state(), self._loop)
            text = asked.result()
            if text == last or self._config is None:
                continue
            name = f"{self._name}-state"
            data = {
                "name": name,
                "namespace": self._kube.namespace,
                "labels": {"internal.skupper.io/standin": "state"},
                "ownerReferences": self._owners,
            }
            try:
                self._kube.write(
                    name, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": data, "data": {"state.json": text}}
                )
                last = text
            except (OSError, HTTPException) as error:
                log(f"state: {error}")
                time.sleep(RETRY)
                self._dirty.set()

    async def _state(self) -> str:
        pod = os.environ["POD_NAME"]
        return json.dumps({"pod": pod, "trouble": self._trouble, **self.router.state()}, indent=1, sort_keys=True)


def prepare(config_map: str) -> None:
    """The init container: returns when there is a configuration, and each TLS Secret that it names (§2b)."""
    kube, said = Kube(), ""
    while True:
        try:
            config = json.loads(json.load(kube.request("GET", f"configmaps/{config_map}"))["data"]["router.json"])
            for name in config.get("profiles", {}):
                kube.request("GET", f"secrets/{name}").read()
            return
        except (OSError, HTTPException, ValueError, KeyError) as error:
            if str(error) != said:
                said = str(error)
                log(f"waits: {said}")
            time.sleep(RETRY)


async def main(config_map: str) -> None:
    """Run as a pod's program."""
    adaptor = Adaptor(config_map)
    adaptor.start()

    async def health(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.TimeoutError):
            await asyncio.wait_for(reader.readline(), 2)
            word = "200 OK" if adaptor.ready else "503 Service Unavailable"
            writer.write(f"HTTP/1.1 {word}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode())
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(health, "", HEALTH_PORT)
    ended = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    await ended.wait()
    server.close()
    os._exit(0)  # watching threads hold nothing that needs an orderly end


if __name__ == "__main__":
    if sys.argv[1] == "--init":
        prepare(sys.argv[2])
    else:
        asyncio.run(main(sys.argv[1]))
