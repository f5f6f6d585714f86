# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The gateway: HAProxy in the SuperLink pod, the only way in.

Two ports, or three. 9092 lets sites make Fleet calls, 9091 lets the ServerApp make Runtime calls; both compare the whole path
with a list, so that nothing encoded (C(%2e%2e)) or doubled gets through to the Control API, which has no user
accounts. Where metrics are on, 9093 lets their exporter make two reading calls of that API (on wish a third one, for logs), and
read what was counted by site, with a shared secret. Every refusal is a 503: a SuperNode retries 502, 503 and 504, while any 4xx or a 500 kills or hangs it.

Sites authenticate with client certificates (CN: the site, O: the federation). Who is denied, and which
certificates were revoked, stands in the ConfigMap C(superlink-clients), which rotation/clients.py writes and this renderer
does not: it follows the ledger, and a run that only renders must not undo a denial.
"""

from __future__ import annotations

from ..base.names import METRICS
from ..base.object_names import (
    CLIENTS_CONFIG,
    FLEET_PORT,
    GATEWAY,
    GATEWAY_NEXT_SECRET,
    GATEWAY_NEXT_VOLUME,
    GATEWAY_SECRET,
    GATEWAY_VOLUME,
    METRICS_CONTROL_PORT,
    OPS_PORT,
    RUNTIME_PORT,
    SUPERLINK_PORT,
)
from ..base.values import Object
from ..programs.metrics_program import HEADER, TRAFFIC
from ..spec.hub_spec import HubSpec
from . import haproxy
from .common_objects import config_map
from .haproxy import CLIENT_LOG, RUN_DIR, SCRIPT, global_lines, haproxy_container, quiet
from .pod import config_volume, key_pair_volume, mount, scratch_volume, secret_volume

CONFIG = "superlink-gateway"
CLIENTS_DIR = "/clients"
DENIED = f"{CLIENTS_DIR}/denied.lst"
KEYS = f"{CLIENTS_DIR}/keys.map"
KEY_HEADER = "flwr-public-key"  # flwr 1.41, supercore/constant.py
PROBE = "/probe"
SECRET = GATEWAY_SECRET
CERTIFICATE_VOLUME = GATEWAY_VOLUME
# Exists only during a rotation of the CA: a certificate of the next one, served under next.NAME, so that every site can test it.
NEXT_DIR = "/next"

# Endpoints of flwr 1.40 to 1.42 (flwr/superlink/routers/fleet/router.py).
FLEET_CALLS = (
    "activate-node",
    "confirm-message-received",
    "deactivate-node",
    "get-fab",
    "get-run",
    "pull-messages",
    "pull-object",
    "push-messages",
    "push-object",
    "send-node-heartbeat",
)
# What the exporter of metrics reads (flwr/superlink/routers/control/router.py).
CONTROL_CALLS = ("list-nodes", "list-runs")
LOG_CALLS = ("stream-logs",)
_CONTROL_BODY = 4096  # bytes; both requests have a few numbers at most
# With these two, an app sends what it keeps in its context, in one piece.
_CONTEXT_CALLS, _CONTEXT_TIMES = "/v1/runtime/push-task-output /v1/runtime/put-compacted-context", 32
# Concurrent calls that the SuperLink gets from sites, and from the ServerApp, and connections of the latter: they are part of HEADROOM.
_CALLS, _RUNTIME_CALLS, _RUNTIME_CONNECTIONS = 200, 64, 128
METRICS_DIR = "/metrics-control"
METRICS_VOLUME = "metrics-control"
# Only SuperNodes without a key call these two.
FLEET_CALLS_WITHOUT_KEY = ("register-node", "unregister-node")

# Accepted beyond the port's limit, so that the answer is a 503: a connection that HAProxy leaves in the backlog ends
# in a handshake time-out, after which a SuperNode hangs permanently. roles/superlink/files/metrics has this number, too: the limit that
# HAProxy reports is the sum.
HEADROOM = 256


def asked_by(configured: str) -> str:
    """The value in a haproxy.cfg for C(HubSpec.asks)."""
    return next((word for word in ("required", "optional") if f" verify {word} crl-file " in configured), "none")


def configuration(spec: HubSpec) -> str:
    """The text of haproxy.cfg."""
    limit = spec.gateway_max_connections
    fleet_calls = FLEET_CALLS + (FLEET_CALLS_WITHOUT_KEY if spec.insecure else ())
    # The first certificate is the one for every name that no other one is for; an empty folder is not a fault.
    tls = "" if spec.insecure else f" ssl crt /certs/tls.pem crt {NEXT_DIR} alpn http/1.1"
    clients = spec.asks
    if clients != "none":
        tls += f" ca-file {CLIENTS_DIR}/ca.crt verify {clients} crl-file {CLIENTS_DIR}/crl.pem"

    # Connections of a site beyond its share are closed: they might never make a call that can be refused.
    share = max(limit // 4, spec.gateway_max_site_calls)
    counted = ["  tcp-request session track-sc1 ssl_c_s_dn(cn) table sites", f"  tcp-request session reject if {{ sc1_conn_cur gt {share} }}"]
    counted_for_metrics = ",conn_cnt,http_err_cnt,bytes_in_cnt,bytes_out_cnt" if spec.metrics.enabled else ""
    lines = [
        *global_lines(limit + HEADROOM, threads=2),
        "frontend fleet",
        f"  bind :{FLEET_PORT} proto h1{tls}",
        "  option dontlognull",  # health checks of load balancers connect and send nothing, every few seconds from each node
        # The frontend counts all connections, and this rule applies to those that come when there are too many: the others go on. It is
        # evaluated after the handshake, so that the answer is a 503.
        f"  tcp-request session set-var(sess.over) bool(true) if {{ fe_conn gt {limit} }}",
        *([*CLIENT_LOG, *counted] if clients != "none" else []),
        *[f"  acl fleet_call path /v1/fleet/{call}" for call in sorted(fleet_calls)],
        "  http-request deny deny_status 503 if { src -f /etc/gw/denied.lst }",
        f"  http-request deny deny_status 503 if {{ var(sess.over) -m bool }} {{ fe_conn gt {limit} }}",
    ]
    if clients != "none":
        lines += [
            f"  http-request deny deny_status 503 if {{ ssl_c_s_dn(cn) -m str -f {DENIED} }}",
            # Another federation of this hub may have the same CA.
            f"  http-request deny deny_status 503 if {{ ssl_c_used }} !{{ ssl_c_s_dn(o) -m str {spec.federation} }}",
            # A SuperNode's key is valid with the certificate of its own site only. What the SuperLink might read in another
            # way than this port is refused. A key that is not listed yet is checked by the SuperLink.
            f"  http-request deny deny_status 503 if {{ req.hdr_cnt({KEY_HEADER}) gt 1 }}",
            f"  http-request deny deny_status 503 if {{ req.hdr({KEY_HEADER}) -m found }} !{{ req.hdr({KEY_HEADER}),b64dec -m found }}",
            "  http-request set-var(txn.site) ssl_c_s_dn(cn)",
            f"  http-request set-var(txn.owner) req.hdr({KEY_HEADER}),b64dec,sha2(256),hex,lower,map({KEYS})",
            "  http-request deny deny_status 503 if { ssl_c_used } { var(txn.owner) -m found } !{ var(txn.owner),strcmp(txn.site) eq 0 }",
        ]
    if not spec.insecure:
        # Returns which certificate this port serves now; sidecars use it to test which ones they accept.
        lines += [
            *([] if spec.gateway_access_log else [f"  http-request set-log-level silent if METH_GET {{ path {PROBE} }}"]),
            "  http-request return status 200 content-type text/plain lf-string"
            f' "serial=%[ssl_f_serial,hex,lower] cn=%[ssl_c_s_dn(cn)]\\n" if METH_GET {{ path {PROBE} }}',
        ]
    if spec.gateway_source_rate:
        lines += [
            "  stick-table type ipv6 size 100k expire 60s store http_req_rate(10s)",
            "  http-request track-sc0 src",
            f"  http-request deny deny_status 503 if {{ sc_http_req_rate(0) gt {spec.gateway_source_rate} }}",
        ]
    lines += [
        "  http-request deny deny_status 503 unless METH_POST fleet_call",
        *_body(spec.gateway_max_body_bytes),
    ]
    if clients != "none":
        lines += [
            # Counts calls, not connections: until the answer. A slow one occupies the SuperLink as well.
            "  http-request track-sc2 ssl_c_s_dn(cn) table calls",
            f"  http-request deny deny_status 503 if {{ sc2_conn_cur gt {spec.gateway_max_site_calls} }}",
        ]
    lines.append("  default_backend superlink")
    if spec.is_process:
        limits = [
            f"  maxconn {_RUNTIME_CONNECTIONS}",
            f"  acl has_context path {_CONTEXT_CALLS}",
            f"  http-request deny deny_status 503 if !has_context {{ req.body_size gt {spec.gateway_max_body_bytes} }}",
            *_body(spec.gateway_max_body_bytes * _CONTEXT_TIMES),
        ]
        lines += haproxy.frontend(RUNTIME_PORT, "/rt/tls.pem", "runtime", limits)
    if spec.metrics.enabled:
        lines += _metrics_frontend(spec)
    if clients != "none":
        lines += [
            "backend sites",  # no servers: a table of sites, for `show table sites`
            f"  stick-table type string len 64 size 10k expire 1h store http_req_cnt,http_req_rate(10s),conn_cur{counted_for_metrics}",
            "backend calls",
            "  stick-table type string len 64 size 10k expire 1h store conn_cur",
        ]
    if spec.is_process:
        lines += [
            "backend runtime",
            "  http-reuse safe",
            *quiet(spec.gateway_access_log),
            "  http-response set-status 503 if { status 500 }",
            _server("track superlink/sl", _RUNTIME_CALLS),
        ]
    lines += [
        "backend superlink",
        "  http-reuse safe",
        *quiet(spec.gateway_access_log),
        "  option httpchk GET /health",
        "  http-check expect status 200",
        # SuperLink answers 500 while its database is locked; a SuperNode would stop permanently.
        "  http-response set-status 503 if { status 500 }",
        # uvicorn closes idle connections after 5 s: leave them before that. A SuperLink that was down is up with its first
        # good answer: sites wait for it.
        _server("check inter 2s downinter 500ms rise 1", _CALLS),
        "frontend ops",
        f"  bind :{OPS_PORT}",
        "  option dontlog-normal",
        "  http-request use-service prometheus-exporter if { path /metrics }",
        "  http-request return status 200 if { path /live }",
        "  http-request return status 200 if { path /ready } { nbsrv(superlink) ge 1 }",
        "  http-request return status 503",
    ]
    return "\n".join(lines) + "\n"


def _body(most: int) -> list[str]:
    """Refuses calls with a longer body, which the SuperLink would have in memory before it knows who calls."""
    return [
        # HAProxy takes 2^64 - 1 for a length that is not known.
        f"  http-request deny deny_status 503 if {{ req.body_size gt {most} }} || {{ req.hdr(content-length) -m len 16: }}",
        # A body without a length could be of any size.
        "  http-request deny deny_status 503 if { req.hdr(transfer-encoding) -m found }",
    ]


def _server(health: str, calls: int) -> str:
    """The SuperLink, with concurrent calls at most; others wait."""
    return (
        f"  server sl 127.0.0.1:{SUPERLINK_PORT} {health} ssl verify required ca-file /internal-ca/ca.crt"
        f" sni str(localhost) verifyhost localhost alpn http/1.1 pool-purge-delay 2s maxconn {calls}"
    )


def _metrics_frontend(spec: HubSpec) -> list[str]:
    """The port for the exporter. It has the certificate for sites as well, by its name: the exporter reads its dates from the handshake."""
    served = "" if spec.insecure else " crt /certs/tls.pem"
    calls = (*CONTROL_CALLS, *(LOG_CALLS if spec.metrics.runs else ()))
    # What the port for sites counted of one of them, whose name is in the path; nothing is 0.
    counters = ("conn_cnt", "http_req_cnt", "http_err_cnt", "kbytes_in", "kbytes_out")
    text = " ".join(f"%[path,field(3,/),table_{one}(sites)]" for one in counters)
    traffic = f'  http-request return status 200 content-type text/plain lf-string "{text}\\n" if METH_GET {{ path_beg {TRAFFIC} }}'
    return [
        "frontend metrics",
        f"  bind :{METRICS_CONTROL_PORT} proto h1 ssl crt {METRICS_DIR}/tls.pem{served} alpn http/1.1",
        *[f"  acl control_call path /v1/control/{call}" for call in calls],
        f"  http-request deny deny_status 503 unless {{ req.hdr({HEADER}) -m str -f {METRICS_DIR}/token }}",
        *([traffic] if spec.asks != "none" else []),
        "  http-request deny deny_status 503 unless METH_POST control_call",
        *_body(_CONTROL_BODY),
        f"  http-request del-header {HEADER}",
        "  default_backend superlink",
    ]


def config_objects(spec: HubSpec) -> list[Object]:
    """The ConfigMap with HAProxy's configuration, the watcher and the list of refused source networks."""
    data = {
        "denied.lst": "\n".join(["# source networks that get 503", *spec.gateway_denied_sources]) + "\n",
        "haproxy.cfg": configuration(spec),
        "watch.sh": SCRIPT,
    }
    return [config_map(spec, CONFIG, "superlink", data)]


def pod_parts(spec: HubSpec) -> tuple[Object, list[Object]]:
    """The container C(gateway) of the SuperLink pod, and its volumes there."""
    mounts = [mount("internal-ca", "/internal-ca")]
    ports = [{"name": "fleet", "containerPort": FLEET_PORT}]
    volumes = [
        # Memory: it holds sockets only. The superlink container shares it, so that a new certificate can be pushed
        # through HAProxy's runtime API with the Python that is there. Apps reach it with subprocess isolation only.
        scratch_volume("gw-run", size="16Mi", memory=True),
        config_volume("gw-conf", CONFIG),
        secret_volume("internal-ca", "superlink-internal", keys=["ca.crt"]),
    ]
    if not spec.insecure:
        mounts += [mount(CERTIFICATE_VOLUME, "/certs"), mount(GATEWAY_NEXT_VOLUME, NEXT_DIR), mount("gw-clients", CLIENTS_DIR)]
        volumes += [
            key_pair_volume(GATEWAY_NEXT_VOLUME, GATEWAY_NEXT_SECRET, optional=True),
            # Also where no certificates are requested: a later change then needs a reload and no new pod.
            config_volume("gw-clients", CLIENTS_CONFIG),
            key_pair_volume(CERTIFICATE_VOLUME, spec.gateway_secret or SECRET),
        ]
    if spec.is_process:
        mounts.append(mount("rt-certs", "/rt"))
        ports.append({"name": "runtime", "containerPort": RUNTIME_PORT})
        volumes.append(key_pair_volume("rt-certs", "superlink-runtime-tls"))
    if spec.metrics.enabled:
        mounts.append(mount(METRICS_VOLUME, METRICS_DIR))
        ports.append({"name": "metrics-control", "containerPort": METRICS_CONTROL_PORT})
        volumes.append(key_pair_volume(METRICS_VOLUME, METRICS))
        volumes[-1]["secret"]["items"].append({"key": "token", "path": "token"})
    container = haproxy_container(
        spec,
        GATEWAY,
        spec.gateway_image,
        mounts=mounts,
        resources=spec.gateway_resources,
        arguments=["-S", f"{RUN_DIR}/master.sock"],
        ports=ports,
        is_ready=True,
    )
    return container, volumes
