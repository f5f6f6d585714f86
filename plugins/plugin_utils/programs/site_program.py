# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Program that runs inside a SuperNode container: which certificates of the gateway this pod takes, and what it runs with.

A SuperNode with a sidecar never meets the gateway's certificate, so the sidecar is asked: it forwards the probes to the
hub in a new connection, with the CA bundle that it has loaded. Without one, the handshake is done here as the SuperNode would
do it, with the same file; and since a SuperNode reads that file once, the age of its process is compared with the
file's.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import re
import socket
import ssl
import sys
import time
from typing import Any

_SERIAL = re.compile(r"\bserial=([0-9A-Fa-f]+)\b")


def by_sidecar(port: int, path: str) -> dict[str, str]:
    """Have the sidecar connect to the hub's port; return the serial that it received, or why not."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        text = response.read(4096).decode("ascii", "replace")
    except (OSError, http.client.HTTPException) as error:
        return {"error": "the sidecar does not answer: " + (str(error) or type(error).__name__)}
    finally:
        connection.close()
    found = _SERIAL.search(text)
    if response.status == 200 and found:
        return {"serial": format(int(found.group(1), 16), "x")}
    why = " ".join((response.getheader("x-why") or "").split())
    return {"error": f"the sidecar got no answer from the hub ({response.status})" + (f": {why}" if why else "")}


def by_handshake(host: str, port: int, name: str, trust: str) -> dict[str, str]:
    """Do the handshake of a SuperNode without a sidecar; return the serial that was received, or why not."""
    try:
        context = ssl.create_default_context(cafile=trust)
        raw = socket.create_connection((host, port), 10)
        with raw, context.wrap_socket(raw, server_hostname=name) as channel:
            shown: Any = channel.getpeercert()
            return {"serial": format(int(shown["serialNumber"], 16), "x")}
    except ssl.SSLCertVerificationError as error:
        return {"error": "it does not accept the certificate: " + error.verify_message}
    except OSError as error:
        return {"error": str(error) or type(error).__name__}


def look(probe: dict[str, Any]) -> dict[str, str]:
    """Run one probe."""
    if "path" in probe:
        return by_sidecar(probe["port"], probe["path"])
    return by_handshake(probe["host"], probe["port"], probe["name"], probe["trust"])


def started() -> float:
    """When process 1 of this container started, by the node's clock."""
    with open("/proc/1/stat", encoding="ascii", errors="replace") as stream:
        ticks = int(stream.read().rpartition(")")[2].split()[19])
    with open("/proc/uptime", encoding="ascii") as stream:
        uptime = float(stream.read().split()[0])
    return time.time() - uptime + ticks / os.sysconf("SC_CLK_TCK")


def held(path: str) -> dict[str, Any]:
    """A mounted file: the digest of its content, and whether process 1 started after it was written.

    The kubelet changes all files of a Secret or ConfigMap at once, by creating a new folder as the target of C(..data).
    """
    try:
        with open(path, "rb") as stream:
            digest = hashlib.sha256(stream.read()).hexdigest()
        folder = os.path.join(os.path.dirname(path), "..data")
        changed = os.stat(folder if os.path.exists(folder) else path).st_mtime
    except OSError as error:
        return {"error": str(error)}
    return {"sha256": digest, "loaded": started() > changed}


def main() -> None:
    """Serve one request: probe until every wanted serial was received or the timeout, then report files."""
    request = json.loads(sys.stdin.readline())
    deadline = time.monotonic() + request["seconds"]
    while True:
        seen = {name: look(probe) for name, probe in request["probes"].items()}
        wanted = {name: probe["serial"] for name, probe in request["probes"].items() if probe["serial"]}
        if all(seen[name].get("serial") == serial for name, serial in wanted.items()) or time.monotonic() >= deadline:
            break
        time.sleep(0.5)
    print(json.dumps({"seen": seen, "held": {name: held(path) for name, path in request["files"].items()}}), flush=True)


if __name__ == "__main__":
    main()
