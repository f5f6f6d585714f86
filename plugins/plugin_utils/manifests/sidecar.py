# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The sidecar: HAProxy on the loopback of a SuperNode's pod, which connects to the hub for it.

A SuperNode that meets a TLS error or a broken path hangs permanently; one that meets a 503 retries. The sidecar turns
the first into the second, and takes in a new trust bundle or a moved hub without a restart of the SuperNode.

It is a native sidecar (an init container that keeps running), so it is there before the SuperNode makes its first
call: Kubernetes 1.29 or later.

It also presents the site's client certificate to the gateway. The key is in a Secret of the site, the
certificate in a ConfigMap; only this container has the two.

C(GET /probe/now) on its ops port, from within the pod, asks the gateway which certificate it serves, over a connection
and with the CA bundle that HAProxy has in memory at that time: an answer of 200 proves that exactly this process
accepts it. C(/probe/next) does the same under the name C(next.NAME), under which a gateway can serve a certificate that it
does not serve yet.

Where ClientApps are in their own pods, the sidecar has a listener for them, which forwards to the SuperNode's Runtime API.
"""

from __future__ import annotations

from ..base.addresses import is_ip, split_address
from ..base.certificate_names import next_server_name
from ..base.names import CLIENT_KEY
from ..base.object_names import CLIENT_CONFIG, LOCAL_TLS_SECRET
from ..base.ports import NODE_LISTENER_PORT, NODE_RUNTIME_PORT, OPS_PORT, SIDECAR_PORT, TUNNEL_PORT
from ..base.values import Object
from ..spec.site_spec import SiteSpec
from . import runtime_listener
from .objects import config_map
from .pod import config_volume, image, key_pair_volume, mount, scratch_volume, secret_volume
from .tunnel import WHY
from .watch import DEFAULTS, LOG_FORMAT, SCRIPT, container, global_section, quiet

CONFIG = "supernode-sidecar"

# The hub's name is resolved repeatedly: its address may change, or be created later.
_RESOLVERS = ("resolvers dns", "  parse-resolv-conf", "  accepted_payload_size 4096")

# Behind an HTTP proxy, why a connection failed: a proxy that intercepts TLS has a certificate that is not the hub's.
_WHY = "%[bc_err_str] %[ssl_bc_err_str]"
_WHY_LOG = "  log-format '" + LOG_FORMAT[:-1] + ',"why":"' + _WHY + '"}' + "'"
_WHY_HEADER = f'  http-after-response set-header {WHY} "{_WHY}" if {{ status 503 }}'


def full_name(spec: SiteSpec, host: str) -> str:
    """The full name of a Service; other hosts as they are.

    HAProxy's resolvers use names as they are, without the search list of resolv.conf (HAProxy's configuration
    manual, section 5.3), so C(flower-superlink) and C(superlink.flower.svc) would be unknown to them.
    """
    domain = spec.cluster_domain
    if not domain or is_ip(host):
        return host
    if "." not in host:
        return f"{host}.{spec.namespace}.svc.{domain}"
    return f"{host}.{domain}" if host.endswith(".svc") else host


def configuration(spec: SiteSpec) -> str:
    """The text of haproxy.cfg."""
    host, port = split_address(spec.superlink_address)
    host = full_name(spec, host)
    target = f"[{host}]:{port}" if is_ip(host) and ":" in host else f"{host}:{port}"
    found = " init-addr last,libc,none resolvers dns resolve-prefer ipv4"
    if spec.has_proxy:
        target, found = f"127.0.0.1:{TUNNEL_PORT}", ""
    name = spec.verified_name
    # HAProxy takes the key from the file of the same name with .key behind it.
    client = " crt /client/tls.pem" if spec.shows_certificate else ""

    def server(asked: str) -> str:
        # The name that is verified is the one sent as SNI. HAProxy compares it with DNS entries only, so an IP address
        # is verified by the fixed name in every certificate of the gateway.
        return (
            f"  server hub {target} ssl verify required ca-file /trust/ca.crt sni str({asked}) verifyhost {asked}{client}"
            f" alpn http/1.1 pool-purge-delay 2s{found}"
        )

    def probe(kind: str, asked: str) -> list[str]:
        return [
            f"backend probe-{kind}",
            "  http-reuse never",
            "  retries 0",
            "  http-request set-path /probe",
            f"{server(asked)} no-ssl-reuse",
        ]

    lines = [global_section(spec.sidecar_max_connections, threads=1) + "defaults", DEFAULTS.rstrip("\n")]
    lines += [
        "frontend node",
        f"  bind 127.0.0.1:{SIDECAR_PORT} proto h1 ssl crt /local/tls.pem alpn http/1.1",
        *([_WHY_LOG] if spec.has_proxy else []),
        "  default_backend hub",
        "backend hub",
        "  http-reuse safe",
        *quiet(spec.sidecar_access_log),
        server(name),
        *probe("now", name),
        *probe("next", next_server_name(name)),
        *(_door(spec.sidecar_access_log) if spec.has_apps_apart else []),
        *([] if spec.has_proxy else _RESOLVERS),
        "frontend ops",
        f"  bind :{OPS_PORT}",
        "  option dontlog-normal",
        "  http-request use-service prometheus-exporter if { path /metrics }",
        "  http-request return status 200 if { path /live }",
        *([_WHY_HEADER] if spec.has_proxy else []),
        # HAProxy evaluates these rules before it selects a backend.
        "  http-request return status 503 unless METH_GET { src 127.0.0.1 } { path /probe/now /probe/next }",
        "  use_backend probe-next if { path /probe/next }",
        "  default_backend probe-now",
    ]
    return "\n".join(lines) + "\n"


def _door(access_log: bool) -> list[str]:
    """The way from ClientApps in other pods to this pod's SuperNode."""
    return [
        *runtime_listener.frontend(NODE_LISTENER_PORT, "/local/tls.pem", "supernode"),
        "backend supernode",
        "  http-reuse safe",
        *quiet(access_log),
        # uvicorn closes idle connections after 5 s: leave them before that.
        f"  server sn 127.0.0.1:{NODE_RUNTIME_PORT} proto h1 pool-purge-delay 2s",
    ]


def config_objects(spec: SiteSpec) -> list[Object]:
    """The ConfigMaps with HAProxy's configuration, the watcher and the client certificate; nothing without a sidecar."""
    if not spec.has_sidecar:
        return []
    made = [config_map(spec, CONFIG, "supernode", {"haproxy.cfg": configuration(spec), "watch.sh": SCRIPT}, "sidecar")]
    if spec.shows_certificate:
        made.append(config_map(spec, CLIENT_CONFIG, "supernode", {"tls.crt": spec.client_certificate}, "client"))
    return made


def init_containers(spec: SiteSpec) -> list[Object]:
    """The container C(sidecar), or nothing."""
    if not spec.has_sidecar:
        return []
    mounts = [mount("trust", "/trust"), mount("local", "/local")]
    if spec.shows_certificate:
        mounts.append(mount("client", "/client"))
    built = container(
        "sidecar",
        image(spec, "haproxy", spec.sidecar_image),
        pull_policy=spec.image_pull_policy,
        watched=[m["mountPath"] for m in mounts],
        ports=[{"name": "runtime", "containerPort": NODE_LISTENER_PORT}] if spec.has_apps_apart else [],
        mounts=mounts,
        resources=spec.sidecar_resources,
        ready=False,
    )
    return [{"name": built.pop("name"), "restartPolicy": "Always", **built}]


def volumes(spec: SiteSpec) -> list[Object]:
    """Volumes of the sidecar; C(trust) is supernode.py's."""
    if not spec.has_sidecar:
        return []
    brought = [
        scratch_volume("gw-run", size="16Mi", memory=True),
        config_volume("gw-conf", CONFIG),
        key_pair_volume("local", LOCAL_TLS_SECRET),
        secret_volume("local-ca", LOCAL_TLS_SECRET, keys=["ca.crt"]),
    ]
    if spec.shows_certificate:
        brought.append(_client_volume())
    return brought


def _client_volume() -> Object:
    """Certificate and key in one folder, under the names by which HAProxy finds them."""
    certificate = {"name": CLIENT_CONFIG, "items": [{"key": "tls.crt", "path": "tls.pem"}]}
    key = {"name": CLIENT_KEY, "items": [{"key": "tls.key", "path": "tls.pem.key"}]}
    sources = [{"configMap": certificate}, {"secret": key}]
    return {"name": "client", "projected": {"defaultMode": 0o440, "sources": sources}}
