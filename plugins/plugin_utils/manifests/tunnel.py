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
from ..base.ports import OPS_PORT, TUNNEL_PORT
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
SCRIPT = (
    """\
#!/bin/sh
# tunnel.sh run    connections to the loopback go to the hub through the HTTP proxy
# tunnel.sh check [TARGET [MARK]]
#                  whether the hub is reached so: 0; 1: the proxy, or this site, is in the way; 2: the hub does not answer.
#                  Waits until the tunnel runs with this target, and with the credentials that have this mark
# tunnel.sh ready  the same, but 0 where only the hub does not answer
conf=/etc/tunnel run=/run/tunnel given=/http-proxy
umask 077

# The line that socat reads at each connection. printf is part of the shell: nothing becomes an argument of a process.
credentials() {
  [ -e "$given/username" ] || return 0
  printf '%s:%s' "$(cat "$given/username")" "$(cat "$given/password")" >"$run/credentials.new"
  mv "$run/credentials.new" "$run/credentials"
}

# Tells what socat says in words for people, once, and keeps it for check.
follow() {
  proxy=$(cat "$conf/proxy") hub=$(cat "$conf/hub") before=-
  while read -r line; do
    case $line in
    *' N starting data transfer loop '*) kind= said= ;;
    *' '[EW]' CONNECT '*)
      reason=${line##*: }
      case $reason in
      *uthenti* | *nauthori*) kind=1 said="the HTTP proxy $proxy does not accept the credentials ($reason): correct the user name and password" ;;
      *orbidden* | *enied* | *llowed* | *iolation* | *ilter*)
        kind=1 said="the HTTP proxy $proxy refuses CONNECT to $hub ($reason): have this host and port allowed there" ;;
      *) kind=2 said="the HTTP proxy $proxy does not reach $hub ($reason)" ;;
      esac ;;
    *' '[EW]' proxy: '* | *' '[EW]' proxy_connect: '*)
      kind=1 said="$proxy does not answer as an HTTP proxy does (${line#*' '[EW]' '})" ;;
    *' '[EW]' connect('* | *' '[EW]' getaddrinfo('* | *' E PROXY:'* | *' E _xioopen'*)
      kind=1 said="the HTTP proxy $proxy cannot be reached (${line##*: })" ;;
    *' E read('* | *' E write('*) continue ;;
    *' E '*) echo "${line#*' E '}"; continue ;;
    *) continue ;;
    esac
    [ "$said" != "$before" ] || continue
    before=$said
    if [ -n "$said" ]; then
      echo "$kind $said" >"$run/fault.new"
      mv "$run/fault.new" "$run/fault"
      echo "$said"
    else
      rm -f "$run/fault"
      echo "the HTTP proxy $proxy lets connections to $hub pass"
    fi
  done
}

start() {
  rm -f "$run/pid" "$run/fault"
  for file in "$conf/target" "$conf/proxy" "$conf/hub" "$given/mark"; do
    [ ! -e "$file" ] || cat "$file" >"$run/loaded.${file##*/}"
  done
  login=
  [ ! -e "$run/credentials" ] || login=",proxy-authorization-file=$run/credentials"
  {
    socat -d -d -b 65536 "$(cat "$conf/listen")" "$(cat "$conf/target")$login" 2>&1 &
    echo $! >"$run/pid"
    wait $!
  } | follow &
  until [ -s "$run/pid" ]; do sleep 1; done
  child=$(cat "$run/pid")
}

# The address that the tunnel runs with: for some seconds, files have a newer one than what is tried.
used() {
  cat "$run/loaded.$1" 2>/dev/null || cat "$conf/$1"
}

digest() {
  cat "$conf"/* "$given"/* 2>/dev/null | sha256sum
}

serve() {
  trap 'kill "$child"; exit 0' TERM INT
  rm -f "$run/credentials"
  credentials
  before=$(digest)
  start
  while kill -0 "$child" 2>/dev/null; do
    sleep 5 &
    wait $!
    now=$(digest)
    [ "$now" != "$before" ] || continue
    before=$now
    echo "files changed, starting again; open connections stay"
    kill "$child"
    while kill -0 "$child" 2>/dev/null; do sleep 1; done
    credentials
    start
  done
  echo "socat ended"
  exit 1
}

# The sidecar asks the gateway which certificate it serves, in a new connection through the tunnel.
look() {
  answer=$(printf 'GET /probe/now HTTP/1.0\\r\\n\\r\\n' | socat -t 20 - TCP:127.0.0.1:@OPS@,connect-timeout=5 2>/dev/null)
  case $answer in
  'HTTP/'*' 200 '*) echo "the hub answers through the HTTP proxy $(used proxy)"; return 0 ;;
  esac
  if read -r kind said 2>/dev/null <"$run/fault"; then
    echo "$said"
    return "$kind"
  fi
  why=
  case $answer in
  *'@WHY@: '*) why=${answer#*'@WHY@: '} why=${why%%[!-a-zA-Z0-9:_,./ ]*} ;;
  esac
  case $why in
  *ertificate\\ verify\\ failed* | *ertificate*CN*)
    echo "what answers behind the HTTP proxy $(used proxy) is not the hub ($why). A proxy that intercepts TLS must except \
$(used hub); if it does not intercept, the site's CA bundle is outdated: run site.yml"
    return 1 ;;
  esac
  echo "the HTTP proxy $(used proxy) opens a tunnel, and the hub does not answer in it (${why:-no reason is known})"
  return 2
}

loaded() {
  [ -z "$2" ] || [ "$2" = "$(cat "$run/loaded.$1" 2>/dev/null)" ]
}

check() {
  tries=30
  until loaded target "$1" && loaded mark "$2"; do
    tries=$((tries - 1))
    [ $tries != 0 ] || { echo "the tunnel does not run with its new files yet"; return 2; }
    sleep 2
  done
  tries=3
  until said=$(look); rc=$?; [ $rc = 0 ] || [ $tries = 1 ]; do
    tries=$((tries - 1))
    sleep 1
  done
  echo "$said"
  return $rc
}

case $1 in
run) serve ;;
check) check "$2" "$3" ;;
ready) check; [ $? != 1 ] ;;
esac
""".replace("@OPS@", str(OPS_PORT)).replace("@WHY@", WHY)
)


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
