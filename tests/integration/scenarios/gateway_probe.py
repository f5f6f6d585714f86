# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Program that runs in a container of Flower (see in_pod.run): calls ports of the federation with any client certificate.

Request: C(identity) (C(certificate) and C(key), PEM, or null), and C(calls), each with C(host), C(port) and either
C(path) (with C(method), C(headers), C(body) in base64, C(signed) = PEM of a SuperNode key and its node id) or nothing
more, which only shakes hands. Or C(until): call again and again over one connection until the code is not 200.
"""

from __future__ import annotations

import base64
import http.client
import json
import os
import ssl
import sys
import time
from concurrent.futures import ThreadPoolExecutor


def context(identity, highest=None):
    """A client that takes any server: what matters is whether the server takes us."""
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    made.check_hostname = False
    made.verify_mode = ssl.CERT_NONE
    if highest:
        made.maximum_version = highest
    if identity:
        # The library wants a file: one in memory, so that no key gets to a disk.
        file = os.memfd_create("identity")
        os.write(file, (identity["certificate"] + identity["key"]).encode())
        made.load_cert_chain(f"/proc/self/fd/{file}")
        os.close(file)
    return made


def shake(call, identity):
    """Shake hands twice, the second time with the session of the first. TLS 1.2, where a refusal comes at once."""
    import socket

    made, session, resumed = context(identity, ssl.TLSVersion.TLSv1_2), None, False
    for _attempt in range(2):
        with socket.create_connection((call["host"], call["port"]), 10) as raw:
            try:
                with made.wrap_socket(raw, server_hostname="any", session=session) as channel:
                    session, resumed = channel.session, channel.session_reused
            except ssl.SSLError as error:
                return {"alert": error.reason}
    return {"alert": None, "resumed": resumed}


def signed(call):
    """Headers and body of a heartbeat, signed as flwr 1.41 does it (flwr/supernode/node_auth_http_interceptor.py)."""
    from cryptography.hazmat.primitives.serialization import load_ssh_private_key
    from flwr.proto.heartbeat_pb2 import SendNodeHeartbeatRequest
    from flwr.proto.node_pb2 import Node
    from flwr.supercore.date import now
    from flwr.supercore.primitives.asymmetric import public_key_to_bytes, sign_message

    key = load_ssh_private_key(call["signed"]["key"].encode(), None)
    stamp = now().isoformat()
    headers = {
        "content-type": "application/protobuf",
        "flwr-public-key": base64.b64encode(public_key_to_bytes(key.public_key())).decode(),
        "flwr-timestamp": stamp,
        "flwr-signature": base64.b64encode(sign_message(key, stamp.encode())).decode(),
    }
    node = Node(node_id=int(call["signed"]["node"]))
    return headers, SendNodeHeartbeatRequest(node=node, heartbeat_interval=30).SerializeToString()


def ask(call, identity):
    """Make one call; its code and text, or why there is none."""
    if "path" not in call:
        return shake(call, identity)
    headers, body = signed(call) if "signed" in call else (call.get("headers", {}), b"")
    connection = http.client.HTTPSConnection(call["host"], call["port"], timeout=10, context=context(identity))
    try:
        connection.putrequest(call.get("method", "POST"), call["path"], skip_accept_encoding=True)
        for name, value in headers.items():
            connection.putheader(name, value)
        connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body or None)
        answer = connection.getresponse()
        return {"code": answer.status, "text": answer.read().decode("utf-8", "replace")}
    except Exception as error:
        return {"code": None, "text": repr(error)}
    finally:
        connection.close()


def until(call, identity):
    """Call over one open connection until the answer is no longer 200; when that was, and how many were before."""
    connection = http.client.HTTPSConnection(call["host"], call["port"], timeout=10, context=context(identity))
    deadline, good = time.time() + call["until"], 0
    while time.time() < deadline:
        connection.request("GET", call["path"])
        answer = connection.getresponse()
        answer.read()
        if answer.status != 200:
            return {"code": answer.status, "at": time.time(), "good": good}
        good += 1
        time.sleep(0.05)
    return {"code": 200, "at": time.time(), "good": good}


def main():
    """Serve one request; print all answers in one line."""
    request = json.loads(sys.stdin.readline())
    identity = request["identity"]
    with ThreadPoolExecutor(4) as pool:
        made = pool.map(lambda call: (until if "until" in call else ask)(call, identity), request["calls"])
        print(json.dumps(list(made)))


if __name__ == "__main__":
    main()
