# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Program that runs in a SuperNode's container (see in_pod.run): starts more SuperNodes there, behind the same sidecar.

Request: C(keys), name -> private key (as the site's Secret holds it) or null for none. The answer is what each of them said
until it got an id, ended, or 25 seconds had passed.
"""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
import time


def start(port, key):
    """A SuperNode that tries once more at most; its key is in memory, so that it gets to no disk."""
    command = ["flower-supernode", "--superlink", "localhost:9443", "--root-certificates", "/local-ca/ca.crt"]
    command += ["--isolation", "process", "--host", "127.0.0.1", "--port", str(port), "--max-retries", "1"]
    files = []
    if key:
        files.append(os.memfd_create("key"))
        os.write(files[0], key.encode())
        command += ["--auth-supernode-private-key", f"/proc/self/fd/{files[0]}"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, pass_fds=files)


def main():
    """Serve one request; print what all said in one line."""
    keys = json.loads(sys.stdin.readline())["keys"]
    nodes = {name: start(19090 + number, key) for number, (name, key) in enumerate(sorted(keys.items()))}
    said = dict.fromkeys(nodes, b"")
    waiting, deadline = selectors.DefaultSelector(), time.monotonic() + 25
    for name, node in nodes.items():
        waiting.register(node.stdout, selectors.EVENT_READ, name)
    while waiting.get_map() and time.monotonic() < deadline:
        for entry, _events in waiting.select(1):
            part = os.read(entry.fileobj.fileno(), 65536)
            said[entry.data] += part
            if not part or b"SuperNode ID" in said[entry.data]:
                waiting.unregister(entry.fileobj)
    for node in nodes.values():
        node.terminate()
    for node in nodes.values():
        try:
            node.wait(10)
        except subprocess.TimeoutExpired:
            node.kill()
    print(json.dumps({name: text.decode("utf-8", "replace") for name, text in said.items()}))


if __name__ == "__main__":
    main()
