# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Program that runs inside the SuperLink container, beside the gateway: updates the list of denied sites of the running gateway.

Source of the rules: HAProxy's management guide, «show acl», «add acl» and «del acl». A change applies to the
next request of every connection, also of open ones, and is lost when HAProxy reloads its files.
"""

from __future__ import annotations

import json
import socket
import sys


def command(path: str, text: str) -> str:
    """Send a command to HAProxy's runtime API; return its answer."""
    with socket.socket(socket.AF_UNIX) as channel:
        channel.settimeout(5)
        channel.connect(path)
        channel.sendall(text.encode("ascii") + b"\n")
        said = b""
        while True:
            part = channel.recv(65536)
            if not part:
                return said.decode("ascii", "replace").strip()
            said += part


def entries(path: str, name: str) -> list[str]:
    """Names in a list, each as often as it is there. Raises ValueError with HAProxy's message if there is no such list."""
    said = command(path, "show acl " + name)
    lines = [line.split(" ", 1) for line in said.splitlines()]
    if any(not line[0].startswith("0x") or len(line) != 2 for line in lines):
        raise ValueError(said)
    return [line[1] for line in lines]


def bring(path: str, name: str, wanted: list[str]) -> dict[str, list[str]]:
    """Change a list to the wanted names; return what was added and what was removed."""
    there = entries(path, name)
    added = sorted(set(wanted) - set(there))
    removed = sorted(set(there) - set(wanted))
    for verb, names in (("add", added), ("del", removed)):
        for entry in names:
            said = command(path, verb + " acl " + name + " " + entry)
            if said:
                raise ValueError(said)
    if set(entries(path, name)) != set(wanted):
        raise ValueError("it accepted the change and does not show it")
    return {"added": added, "removed": removed}


def main() -> None:
    """Serve one request, print its answer."""
    request = json.loads(sys.stdin.readline())
    answer: object
    try:
        answer = bring(request["socket"], request["list"], request["wanted"])
    except (OSError, ValueError) as error:
        answer = {"error": str(error) or type(error).__name__}
    print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
