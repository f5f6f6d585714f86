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
  answer=$(printf 'GET /probe/now HTTP/1.0\r\n\r\n' | socat -t 20 - TCP:127.0.0.1:8404,connect-timeout=5 2>/dev/null)
  case $answer in
  'HTTP/'*' 200 '*) echo "the hub answers through the HTTP proxy $(used proxy)"; return 0 ;;
  esac
  if read -r kind said 2>/dev/null <"$run/fault"; then
    echo "$said"
    return "$kind"
  fi
  why=
  case $answer in
  *'x-why: '*) why=${answer#*'x-why: '} why=${why%%[!-a-zA-Z0-9:_,./ ]*} ;;
  esac
  case $why in
  *ertificate\ verify\ failed* | *ertificate*CN*)
    echo "what answers behind the HTTP proxy $(used proxy) is not the hub ($why). A proxy that intercepts TLS must except $(used hub); if it does not intercept, the site's CA bundle is outdated: run site.yml"
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
