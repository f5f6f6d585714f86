# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Program that runs inside the SuperLink container, beside the gateway: reads what it serves, writes a certificate.

The two containers share the folder with HAProxy's runtime socket, so any HAProxy image will do: this one has Python.
Source of the rules: HAProxy's management guide, «set ssl cert» and «commit ssl cert» (an empty line ends the payload).
"""

from __future__ import annotations

import json
import socket
import ssl
import sys
import time
from typing import Any


def served(port: int, name: str) -> dict[str, str]:
    """Serial of the certificate that the gateway serves for a name, as C(SERIAL) hex digits, or the reason why not.

    Nothing is verified, in order to see invalid certificates too. With TLS 1.3 the certificate is received before the gateway
    requests one of the client's.
    """
    from cryptography import x509

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    try:
        raw = socket.create_connection(("127.0.0.1", port), 5)
        with raw, context.wrap_socket(raw, server_hostname=name) as channel:
            shown = channel.getpeercert(True) or b""
    except OSError as error:  # also what TLS complains of
        return {"error": str(error) or type(error).__name__}
    return {"serial": format(x509.load_der_x509_certificate(shown).serial_number, "x")}


def wait_served(port: int, name: str, serial: str, seconds: float) -> dict[str, str]:
    """Poll until the gateway serves the certificate with this serial, or the timeout; return the last result."""
    deadline = time.monotonic() + seconds
    while True:
        answer = served(port, name)
        if not serial or answer.get("serial") == serial or time.monotonic() >= deadline:
            return answer
        time.sleep(0.2)


def command(path: str, text: str) -> str:
    """Send a command to HAProxy's runtime API; return its answer."""
    with socket.socket(socket.AF_UNIX) as channel:
        channel.settimeout(5)
        channel.connect(path)
        channel.sendall(text.encode("ascii"))
        said = b""
        while True:
            part = channel.recv(65536)
            if not part:
                return said.decode("ascii", "replace").strip()
            said += part


def push(path: str, name: str, pem: str) -> dict[str, str]:
    """Have HAProxy serve another certificate at once. The key is part of C(pem), so no answer repeats it."""
    payload = "\n".join(line for line in pem.splitlines() if line.strip())
    begun = command(path, "set ssl cert " + name + " <<\n" + payload + "\n\n")
    if not begun.startswith("Transaction "):
        command(path, "abort ssl cert " + name + "\n")
        return {"error": begun}
    ended = command(path, "commit ssl cert " + name + "\n")
    return {} if "Success!" in ended else {"error": ended}


def main() -> None:
    """Serve one request: do its steps in order, print an answer for each."""
    steps: list[dict[str, Any]] = json.loads(sys.stdin.readline())["steps"]
    for step in steps:
        if "push" in step:
            try:
                answer = push(step["socket"], step["push"], step["pem"])
            except OSError as error:
                answer = {"error": str(error)}
        else:
            answer = wait_served(step["port"], step["name"], step["serial"], step["seconds"])
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
