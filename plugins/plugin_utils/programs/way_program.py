# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Program that runs in a container of a SuperNode's pod: what the way to the hub is like from there, and what apps find.

It is sent by C(flower.in_pod). It changes nothing: its calls to the Fleet API have no signature, so the SuperLink reads and refuses them.
"""

from __future__ import annotations

import http.client
import json
import os
import socket
import ssl
import sys
import time
from typing import Any

# A call that is refused for its missing signature only after its body was read and parsed (flwr 1.41, supercore/protobuf).
_PATH, _TYPE = "/v1/fleet/push-messages", "application/protobuf"
_TIMEOUT = 25
_COUNT = 5
# Kernel interfaces of GPUs; each vendor's device plugin brings some of them into a container.
_DEVICES = ("nvidia", "kfd", "dri", "dxg")


def resolved(host: str) -> dict[str, Any]:
    """The addresses of a name."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError as error:
        return {"error": str(error) or type(error).__name__}
    return {"addresses": sorted({str(one[4][0]) for one in found})}


def reached(host: str, port: int) -> dict[str, Any]:
    """Milliseconds until connections to a port are open."""
    times = []
    try:
        for _attempt in range(_COUNT):
            begun = time.monotonic()
            with socket.create_connection((host, port), 10):
                times.append((time.monotonic() - begun) * 1000)
    except OSError as error:
        return {"error": str(error) or type(error).__name__}
    return {"milliseconds": sorted(times)[_COUNT // 2]}


def waited(host: str, port: int, seconds: float, secure: bool) -> dict[str, Any]:
    """Whether a connection on which nothing is said for a while is still one: what lies between forgets those that are idle too long."""
    try:
        with socket.create_connection((host, port), 10) as plain:
            time.sleep(seconds)
            plain.settimeout(_TIMEOUT)
            if secure:
                unverified = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # that it answers is the question, not who it is
                unverified.check_hostname, unverified.verify_mode = False, ssl.CERT_NONE
                unverified.wrap_socket(plain, server_hostname=host).close()
            else:
                plain.sendall(b"HEAD / HTTP/1.0\r\n\r\n")
                if not plain.recv(1):
                    return {"error": "it was closed"}
    except (ssl.SSLEOFError, ssl.SSLZeroReturnError) as error:
        return {"error": str(error) or type(error).__name__}
    except ssl.SSLError:
        return {"seconds": seconds}  # it answers, and wants a certificate
    except OSError as error:
        return {"error": str(error) or type(error).__name__}
    return {"seconds": seconds}


def filled(size: int) -> bytes:
    """A message of Protobuf with an unknown field of that many bytes: number 15, length-delimited."""
    left, length = size, b""
    while left > 127:
        length, left = length + bytes([left & 127 | 128]), left >> 7
    return b"\x7a" + length + bytes([left]) + os.urandom(size)


def called(hop: dict[str, Any], size: int, count: int) -> dict[str, Any]:
    """Seconds of calls to the SuperLink with a body of that size, over one connection; and the status of the last."""
    context = ssl.create_default_context(cafile=hop["trust"]) if hop["trust"] else None
    made: Any = http.client.HTTPConnection(hop["host"], hop["port"], timeout=_TIMEOUT)
    if context is not None:
        made = http.client.HTTPSConnection(hop["host"], hop["port"], timeout=_TIMEOUT, context=context)
    times, status = [], 0
    try:
        made.connect()
        for _attempt in range(count):
            body = filled(size)
            begun = time.monotonic()
            made.request("POST", _PATH, body=body, headers={"Content-Type": _TYPE})
            answer = made.getresponse()
            answer.read()
            status = answer.status
            times.append(time.monotonic() - begun)
    except (OSError, http.client.HTTPException) as error:
        return {"error": str(error) or type(error).__name__}
    finally:
        made.close()
    return {"seconds": sorted(times)[len(times) // 2], "status": status}


def looked(paths: dict[str, str]) -> dict[str, Any]:
    """Whether folders can be read: their number of entries, or why not."""
    found: dict[str, Any] = {}
    for name, path in paths.items():
        try:
            # The kubelet keeps versions of Secrets and ConfigMaps in folders with two dots.
            found[name] = {"entries": sum(not one.startswith("..") for one in os.listdir(path))}
        except OSError as error:
            found[name] = {"error": error.strerror or type(error).__name__}
    return found


def main() -> None:
    """Answer one request, whose keys name what is to be done; with the clock at its beginning and end."""
    request = json.loads(sys.stdin.readline())
    answer: dict[str, Any] = {"begun": time.time()}
    if "hub" in request:
        host, port = request["hub"]
        answer["name"], answer["port"] = resolved(host), reached(host, port)
    if request.get("idle"):
        answer["idle"] = waited(host, port, request["idle"], bool(request["secure"]))
    if "hop" in request:
        answer["call"] = called(request["hop"], 100, _COUNT)
        answer["upload"] = called(request["hop"], request["bytes"], 2)
    if "paths" in request:
        answer["paths"] = looked(request["paths"])
    if request.get("devices"):
        answer["devices"] = sorted(name for name in os.listdir("/dev") if name.startswith(_DEVICES))
    answer["ended"] = time.time()
    print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
