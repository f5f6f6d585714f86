# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""HAProxy as the child of PID 1: it reloads when a mounted Secret or ConfigMap changes; and its listener for Runtime calls.

The gateway has one for the ServerApp, the sidecar one for the ClientApp where that has its own pod. It compares the
whole path with a list, so that nothing encoded (C(%2e%2e)) or doubled gets through. Every refusal is a 503.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..base.object_names import HAPROXY_CONFIG_DIR, HAPROXY_RUN_DIR, OPS_PORT
from ..base.plain_data import program_text
from ..base.values import Object, compact
from ..spec.part_spec import FlowerSpec
from .pod import container_security_context, image, mount

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

RUN_DIR = HAPROXY_RUN_DIR

# Needs sh, cat and sha256sum only, so any HAProxy image will do.
SCRIPT = program_text("watch.sh")

_LOG_HEAD = '"t":"%t","src":"%ci","door":"%f",'
_LOG_TAIL = '"m":"%HM","u":"%[capture.req.uri,json(utf8s)]","s":%ST,"rl":%U,"bs":%B,"rt":%Ta,"ts":"%tsc"'
# One JSON object a line: time, source, port, method, path, status, bytes in and out, milliseconds, end of session.
LOG_FORMAT = "{" + _LOG_HEAD + _LOG_TAIL + "}"
_CN = "%[ssl_c_s_dn(cn),json(utf8s)]"

# Lines of a port that requests client certificates: the site's name in the log, and a line for each handshake that
# failed. The name in the latter is only a claim of the client, and C(verify) is OpenSSL's number for what was wrong.
CLIENT_LOG = (
    "  log-format '{" + _LOG_HEAD + '"cn":"' + _CN + '",' + _LOG_TAIL + "}'",
    "  error-log-format '{" + _LOG_HEAD + '"claims":"' + _CN + '","verify":%[ssl_c_err],'
    '"tls":"%[ssl_fc_err_str,json(utf8s)]"}' + "'",
)

# Text that every haproxy.cfg of the collection shares. Rules behind it: a SuperNode waits at most 30 s for an answer,
# survives 502, 503 and 504 only, and no TLS session may be resumed past a changed trust.
_DEFAULTS = f"""\
  mode http
  log global
  log-format '{LOG_FORMAT}'
  option http-ignore-probes
  timeout connect 5s
  timeout client 60s
  timeout server 25s
  timeout queue 20s
  timeout http-request 60s
  timeout http-keep-alive 75s
  retries 2
"""


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


def global_lines(max_connections: int, threads: int) -> list[str]:
    """The sections C(global) and C(defaults); C(max_connections): that HAProxy accepts over all ports."""
    return [
        "global",
        "  log stdout format raw local0 info",
        f"  maxconn {max_connections}",
        f"  nbthread {threads}",
        "  hard-stop-after 60s",
        "  tune.ssl.cachesize 0",
        "  ssl-default-bind-options ssl-min-ver TLSv1.2 no-tls-tickets",
        "  ssl-default-server-options ssl-min-ver TLSv1.2",
        f"  stats socket {RUN_DIR}/admin.sock mode 660 level admin expose-fd listeners",
        "defaults",
        *_DEFAULTS.splitlines(),
    ]


def quiet(access_log: bool) -> list[str]:
    """Lines for a backend that keep answers of 200 out of the log, unless every request is to be logged."""
    return [] if access_log else ["  http-response set-log-level silent if { status 200 }"]


def haproxy_container(
    spec: FlowerSpec,
    name: str,
    override: str,
    *,
    mounts: Sequence[Object],
    resources: Object,
    arguments: Iterable[str] = (),
    ports: Iterable[Object] = (),
    is_ready: bool = False,
) -> Object:
    """A container that runs C(SCRIPT), which reloads HAProxy when files of the mounts change.

    Args:
        override: its image; empty for the default.
        arguments: more arguments for HAProxy.
        is_ready: whether the container has a readiness probe (C(/ready)).
    """
    ready = {"readinessProbe": {"httpGet": {"path": "/ready", "port": "ops"}, "periodSeconds": 2}}
    return compact(
        {
            "name": name,
            "image": image(spec, "haproxy", override),
            "command": [
                "sh",
                f"{HAPROXY_CONFIG_DIR}/watch.sh",
                " ".join([*(one["mountPath"] for one in mounts), HAPROXY_CONFIG_DIR]),
                f"{HAPROXY_CONFIG_DIR}/haproxy.cfg",
                *arguments,
            ],
            "ports": [*ports, {"name": "ops", "containerPort": OPS_PORT}],
            "securityContext": container_security_context(),
            "startupProbe": {"httpGet": {"path": "/live", "port": "ops"}, "periodSeconds": 1, "failureThreshold": 60},
            "livenessProbe": {"httpGet": {"path": "/live", "port": "ops"}, "periodSeconds": 10, "timeoutSeconds": 5},
            **(ready if is_ready else {}),
            "volumeMounts": [mount("gw-run", RUN_DIR, read_only=False), mount("gw-conf", HAPROXY_CONFIG_DIR), *mounts],
            "imagePullPolicy": spec.image_pull_policy,
            "resources": resources,
        }
    )
