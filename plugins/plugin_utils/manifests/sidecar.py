# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The sidecar connects to the hub for a SuperNode; the tunnel carries its connections through an HTTP proxy.

The sidecar connects to the tunnel's port on the loopback instead of to the hub, and does the rest as without a proxy: its TLS
ends at the gateway, which it verifies, and which verifies it. So neither proxy nor tunnel can read anything, and a proxy that
intercepts TLS is refused. HAProxy itself has no way through an HTTP proxy.

The credentials are entries of a Secret that only this container mounts. The script joins them to the line that socat reads at each
connection, so changed ones are used without a restart. They are in no argument, no variable of the environment and no log;
socat would log them from its third level on (C(-d -d -d)), and runs with the second.

The container is ready while this site's side of the way is right: the proxy accepts connections to the hub, and what
answers behind it has the hub's certificate. A hub that is down does not make it unready.

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
from ..base.object_names import (
    CLIENT_CONFIG,
    LOCAL_TLS_SECRET,
    NODE_LISTENER_PORT,
    NODE_RUNTIME_PORT,
    OPS_PORT,
    PROXY_MARK,
    PROXY_SECRET,
    SIDECAR_PORT,
    TUNNEL,
    TUNNEL_CONFIG,
    TUNNEL_PORT,
    TUNNEL_PROGRAM,
    TUNNEL_VOLUMES,
)
from ..base.plain_data import program_text
from ..base.values import Object, compact
from ..spec.site_spec import PASSWORD, USERNAME, SiteSpec
from . import haproxy
from .common_objects import config_map
from .haproxy import LOG_FORMAT, SCRIPT, global_lines, haproxy_container, quiet
from .pod import config_volume, container_security_context, image, key_pair_volume, mount, scratch_volume, secret_volume

NAME = TUNNEL
PROXY_TUNNEL_CONFIG = TUNNEL_CONFIG
SECRET = PROXY_SECRET
MARK = PROXY_MARK  # entry of SECRET that changes with the others, to see which of them a pod has
PROGRAM = TUNNEL_PROGRAM
WHY = "x-why"  # header of the sidecar's probes: why the hub did not answer
_RUN_VOLUME, _CONFIG_VOLUME, _SECRET_VOLUME = TUNNEL_VOLUMES

# Needs sh, cat, mv, rm, sleep and sha256sum besides socat. Words of socat 1.7.4 (E) and 1.8.0 (W, E).
TUNNEL_SCRIPT = program_text("tunnel.sh")

CONFIG = "supernode-sidecar"

# The hub's name is resolved repeatedly: its address may change, or be created later.
_RESOLVERS = ("resolvers dns", "  parse-resolv-conf", "  accepted_payload_size 4096")

# Behind an HTTP proxy, why a connection failed: a proxy that intercepts TLS has a certificate that is not the hub's.
_WHY = "%[bc_err_str] %[ssl_bc_err_str]"
_WHY_LOG = "  log-format '" + LOG_FORMAT[:-1] + ',"why":"' + _WHY + '"}' + "'"
_WHY_HEADER = f'  http-after-response set-header {WHY} "{_WHY}" if {{ status 503 }}'


def _host_port(address: str) -> tuple[str, int]:
    host, port = split_address(address)
    return f"[{host}]" if is_ip(host) and ":" in host else host, port


def target(spec: SiteSpec) -> str:
    """socat's address of the hub behind the proxy, which resolves the hub's name. A proxy that is gone is noticed after 35 s."""
    proxy, proxy_port = _host_port(spec.http_proxy.address)
    host, port = _host_port(spec.superlink_address)
    alive = "keepalive,keepidle=20,keepintvl=5,keepcnt=3,nodelay"
    return f"PROXY:{proxy}:{host}:{port},proxyport={proxy_port},connect-timeout=5,{alive}"


def config_objects(spec: SiteSpec) -> list[Object]:
    """ConfigMaps: HAProxy's configuration and the watcher, the client certificate, the tunnel's script and addresses; as far as the site has these."""
    if not spec.has_sidecar:
        return []
    built = [config_map(spec, CONFIG, "supernode", {"haproxy.cfg": configuration(spec), "watch.sh": SCRIPT}, "sidecar")]
    if spec.shows_certificate:
        built.append(config_map(spec, CLIENT_CONFIG, "supernode", {"tls.crt": spec.client_certificate}, "client"))
    if spec.has_proxy:
        # As many tunnels as the sidecar may open; more would only wait.
        listen = f"TCP-LISTEN:{TUNNEL_PORT},bind=127.0.0.1,reuseaddr,fork,nodelay,max-children={spec.sidecar_max_connections}"
        data = {"hub": spec.superlink_address, "listen": listen, "proxy": spec.http_proxy.address, "target": target(spec), "tunnel.sh": TUNNEL_SCRIPT}
        built.append(config_map(spec, PROXY_TUNNEL_CONFIG, "supernode", data, NAME))
    return built


def pod_parts(spec: SiteSpec) -> tuple[list[Object], list[Object]]:
    """Containers, native sidecars, and volumes of the pod: C(sidecar) and, with an HTTP proxy, its tunnel. C(trust) is supernode.py's volume."""
    if not spec.has_sidecar:
        return [], []
    mounts = [mount("trust", "/trust"), mount("local", "/local")]
    volumes = [
        scratch_volume("gw-run", size="16Mi", memory=True),
        config_volume("gw-conf", CONFIG),
        key_pair_volume("local", LOCAL_TLS_SECRET),
        secret_volume("local-ca", LOCAL_TLS_SECRET, keys=["ca.crt"]),
    ]
    if spec.shows_certificate:
        mounts.append(mount("client", "/client"))
        # Certificate and key in one folder, under the names by which HAProxy finds them.
        certificate = {"name": CLIENT_CONFIG, "items": [{"key": "tls.crt", "path": "tls.pem"}]}
        key = {"name": CLIENT_KEY, "items": [{"key": "tls.key", "path": "tls.pem.key"}]}
        volumes.append({"name": "client", "projected": {"defaultMode": 0o440, "sources": [{"configMap": certificate}, {"secret": key}]}})
    sidecar = haproxy_container(
        spec,
        "sidecar",
        spec.sidecar_image,
        mounts=mounts,
        resources=spec.sidecar_resources,
        ports=[{"name": "runtime", "containerPort": NODE_LISTENER_PORT}] if spec.has_separate_clientapps else [],
    )
    containers: list[Object] = [{"name": sidecar.pop("name"), "restartPolicy": "Always", **sidecar}]
    if not spec.has_proxy:
        return containers, volumes
    mounts = [mount(_RUN_VOLUME, "/run/tunnel", read_only=False), mount(_CONFIG_VOLUME, "/etc/tunnel")]
    volumes += [scratch_volume(_RUN_VOLUME, size="1Mi", memory=True), config_volume(_CONFIG_VOLUME, PROXY_TUNNEL_CONFIG)]
    own = spec.http_proxy
    if own.secret or spec.http_proxy_credentials:
        mounts.append(mount(_SECRET_VOLUME, "/http-proxy"))
        volumes.append(secret_volume(_SECRET_VOLUME, own.secret or SECRET, keys=[USERNAME, PASSWORD, MARK]))
    if own.secret:
        # Another Secret restarts the pods, other entries in it do not.
        volumes[-1]["secret"]["items"] = [{"key": own.username_key, "path": USERNAME}, {"key": own.password_key, "path": PASSWORD}]
    tunnel = {
        "name": NAME,
        "restartPolicy": "Always",
        "image": image(spec, "socat", spec.tunnel_image),
        "imagePullPolicy": spec.image_pull_policy,
        "command": ["sh", PROGRAM, "run"],
        "resources": spec.tunnel_resources,
        "securityContext": container_security_context(),
        "readinessProbe": {"exec": {"command": ["sh", PROGRAM, "ready"]}, "periodSeconds": 20, "timeoutSeconds": 60},
        "volumeMounts": mounts,
    }
    return [*containers, compact(tunnel)], volumes  # the tunnel is last: its readiness asks the sidecar


def configuration(spec: SiteSpec) -> str:
    """The text of haproxy.cfg."""
    host, port = _host_port(spec.superlink_address)
    # HAProxy's resolvers use names as they are, without the search list of resolv.conf (HAProxy's configuration manual, section 5.3), so
    # flower-superlink and superlink.flower.svc, names of Services, would be unknown to them.
    if domain := "" if is_ip(host.strip("[]")) else spec.cluster_domain:
        host = f"{host}.{spec.namespace}.svc.{domain}" if "." not in host else f"{host}.{domain}" if host.endswith(".svc") else host
    target = f"{host}:{port}"
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

    # ClientApps in other pods reach this pod's SuperNode by another port. uvicorn closes idle connections after 5 s: leave them before that.
    apps = [
        *haproxy.frontend(NODE_LISTENER_PORT, "/local/tls.pem", "supernode"),
        "backend supernode",
        "  http-reuse safe",
        *quiet(spec.sidecar_access_log),
        f"  server sn 127.0.0.1:{NODE_RUNTIME_PORT} proto h1 pool-purge-delay 2s",
    ]
    lines = [
        *global_lines(spec.sidecar_max_connections, threads=1),
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
        *(apps if spec.has_separate_clientapps else []),
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
