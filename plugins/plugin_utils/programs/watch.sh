#!/bin/sh
# watch.sh "DIR..." CONFIG [haproxy arguments]
# Runs HAProxy in master-worker mode. When the content of a directory changes (kubelet swaps the files of a Secret or
# ConfigMap), the configuration is checked and, if it is good, loaded without dropping a connection.
# USR1 is what the official image names as its stop signal; PID 1 that does not ask for it never gets it.
dirs=$1 config=$2
shift 2
haproxy -W -db "$@" -f "$config" &
child=$!
stop() {
  kill -USR1 "$child"
  wait "$child"
  exit $?
}
trap stop TERM INT USR1
digest() {
  for dir in $dirs; do cat "$dir"/* 2>/dev/null; done | sha256sum
}
before=$(digest)
while kill -0 "$child" 2>/dev/null; do
  sleep "${INTERVAL:-2}" &
  wait $!
  now=$(digest)
  if [ "$now" != "$before" ]; then
    before=$now
    if haproxy -c -q -f "$config"; then
      kill -USR2 "$child"
      echo "watch.sh: files changed, reloaded"
    else
      echo "watch.sh: files changed, refused: HAProxy does not accept them; the old state stays"
    fi
  fi
done
wait "$child"
