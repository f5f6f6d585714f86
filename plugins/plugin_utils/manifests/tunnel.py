# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tunnel: socat in a SuperNode's pod, which carries the sidecar's connections to the hub through an HTTP proxy (CONNECT).

The sidecar connects to the tunnel's port on the loopback instead of to the hub, and does the rest as without a proxy: its TLS
ends at the gateway, which it verifies, and which verifies it. So neither proxy nor tunnel can read anything, and a proxy that
intercepts TLS is refused. HAProxy itself has no way through an HTTP proxy.

The credentials are entries of a Secret that only this container mounts. The script joins them to the line that socat reads at each
connection, so changed ones are used without a restart. They are in no argument, no variable of the environment and no log;
socat would log them from its third level on (C(-d -d -d)), and runs with the second.

The container is ready while this site's side of the way is right: the proxy accepts connections to the hub, and what
answers behind it has the hub's certificate. A hub that is down does not make it unready.
"""

from __future__ import annotations

from ..base.addresses import is_ip, split_address
from ..base.object_names import PROXY_MARK, PROXY_SECRET, TUNNEL, TUNNEL_CONFIG, TUNNEL_PROGRAM, TUNNEL_VOLUMES
from ..base.ports import TUNNEL_PORT
from ..base.program_text import program_text
from ..base.values import Object, compact
from ..spec.proxy_spec import PASSWORD, USERNAME
from ..spec.site_spec import SiteSpec
from .objects import config_map
from .pod import config_volume, container_security_context, image, mount, scratch_volume, secret_volume

NAME = TUNNEL
CONFIG = TUNNEL_CONFIG
SECRET = PROXY_SECRET
MARK = PROXY_MARK  # entry of SECRET that changes with the others, to see which of them a pod has
PROGRAM = TUNNEL_PROGRAM
WHY = "x-why"  # header of the sidecar's probes: why the hub did not answer
_RUN_VOLUME, _CONFIG_VOLUME, _SECRET_VOLUME = TUNNEL_VOLUMES

# Needs sh, cat, mv, rm, sleep and sha256sum besides socat. Words of socat 1.7.4 (E) and 1.8.0 (W, E).
SCRIPT = program_text("tunnel.sh")


def has_credentials(spec: SiteSpec) -> bool:
    """Whether the proxy wants a user name and password."""
    return bool(spec.http_proxy.secret or spec.http_proxy_credentials)


def _host_port(address: str) -> tuple[str, int]:
    host, port = split_address(address)
    return f"[{host}]" if is_ip(host) and ":" in host else host, port


def _listen(spec: SiteSpec) -> str:
    """socat's address of the loopback port. As many tunnels as the sidecar may open; more would only wait."""
    return f"TCP-LISTEN:{TUNNEL_PORT},bind=127.0.0.1,reuseaddr,fork,nodelay,max-children={spec.sidecar_max_connections}"


def target(spec: SiteSpec) -> str:
    """socat's address of the hub behind the proxy, which resolves the hub's name. A proxy that is gone is noticed after 35 s."""
    proxy, proxy_port = _host_port(spec.http_proxy.address)
    host, port = _host_port(spec.superlink_address)
    alive = "keepalive,keepidle=20,keepintvl=5,keepcnt=3,nodelay"
    return f"PROXY:{proxy}:{host}:{port},proxyport={proxy_port},connect-timeout=5,{alive}"


def config_objects(spec: SiteSpec) -> list[Object]:
    """The ConfigMap with the script and the addresses; nothing without a proxy."""
    if not spec.has_proxy:
        return []
    data = {
        "hub": spec.superlink_address,
        "listen": _listen(spec),
        "proxy": spec.http_proxy.address,
        "target": target(spec),
        "tunnel.sh": SCRIPT,
    }
    return [config_map(spec, CONFIG, "supernode", data, NAME)]


def init_containers(spec: SiteSpec) -> list[Object]:
    """The container, a native sidecar, or nothing."""
    if not spec.has_proxy:
        return []
    mounts = [mount(_RUN_VOLUME, "/run/tunnel", read_only=False), mount(_CONFIG_VOLUME, "/etc/tunnel")]
    if has_credentials(spec):
        mounts.append(mount(_SECRET_VOLUME, "/http-proxy"))
    return [
        compact(
            {
                "name": NAME,
                "restartPolicy": "Always",
                "image": image(spec, "socat", spec.tunnel_image),
                "imagePullPolicy": spec.image_pull_policy,
                "command": ["sh", PROGRAM, "run"],
                "resources": spec.tunnel_resources,
                "securityContext": container_security_context(),
                "readinessProbe": {
                    "exec": {"command": ["sh", PROGRAM, "ready"]},
                    "periodSeconds": 20,
                    "timeoutSeconds": 60,
                },
                "volumeMounts": mounts,
            }
        )
    ]


def volumes(spec: SiteSpec) -> list[Object]:
    """Its volumes."""
    if not spec.has_proxy:
        return []
    found = [scratch_volume(_RUN_VOLUME, size="1Mi", memory=True), config_volume(_CONFIG_VOLUME, CONFIG)]
    if has_credentials(spec):
        found.append(_credentials(spec))
    return found


def _credentials(spec: SiteSpec) -> Object:
    """The two entries, under fixed names. Another Secret restarts the pods, other entries in it do not."""
    own = spec.http_proxy
    if not own.secret:
        return secret_volume(_SECRET_VOLUME, SECRET, keys=[USERNAME, PASSWORD, MARK])
    volume = secret_volume(_SECRET_VOLUME, own.secret)
    volume["secret"]["items"] = [{"key": own.username_key, "path": USERNAME}, {"key": own.password_key, "path": PASSWORD}]
    return volume
