# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The listener for SuperExecs in other pods: HAProxy lets Runtime calls through, and nothing else.

The gateway has one for the ServerApp, the sidecar one for the ClientApp where that has its own pod. It compares the
whole path with a list, so that nothing encoded (C(%2e%2e)) or doubled gets through. Every refusal is a 503.
"""

from __future__ import annotations

from collections.abc import Iterable

# Endpoints of flwr 1.40 to 1.42 (flwr/supercore/routers/runtime/router.py).
RUNTIME_CALLS = (
    "acquire-task",
    "confirm-message-received",
    "create-task",
    "get-compacted-contexts",
    "get-connector",
    "get-nodes",
    "get-run-series-events",
    "pull-messages",
    "pull-object",
    "pull-task-input",
    "pull-task-message",
    "push-logs",
    "push-messages",
    "push-object",
    "push-task-events",
    "push-task-message",
    "push-task-output",
    "put-compacted-context",
    "record-task-usage",
    "send-task-heartbeat",
    "start-automation",
)


def frontend(port: int, certificate: str, backend: str, limits: Iterable[str] = ()) -> list[str]:
    """The lines of haproxy.cfg.

    Args:
        port: on all addresses of the pod.
        certificate: file with certificate and key.
        backend: where calls go that are let through.
        limits: further lines, which may refuse such calls.
    """
    return [
        "frontend runtime",
        f"  bind :{port} proto h1 ssl crt {certificate} alpn http/1.1",
        *[f"  acl runtime_call path /v1/runtime/{call}" for call in RUNTIME_CALLS],
        "  http-request deny deny_status 503 unless METH_POST runtime_call",
        *limits,
        f"  default_backend {backend}",
    ]
