#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# java.sh: have a Java runtime of version 17 or newer, which ansible-rulebook needs. On Debian and Ubuntu root gets one from the distribution.
set -euo pipefail
enough() {
    local version
    version=$(java -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p') && [ "${version:-0}" -ge 17 ]
}
enough && exit 0
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    echo "java: Java 17 or newer is needed: install a runtime, or run as root on Debian or Ubuntu" >&2
    exit 1
fi
echo "java: installing a runtime (once)" >&2
export DEBIAN_FRONTEND=noninteractive
install() {
    apt-get install -y -qq -o DPkg::Lock::Timeout=300 --no-install-recommends --no-remove "$1" >&2
}
# The package lists may be missing or old. The default runtime of a distribution may be older than 17.
install openjdk-17-jre-headless || { apt-get update -qq >&2 && { install openjdk-17-jre-headless || install default-jre-headless; }; }
if ! enough; then
    echo "java: the distribution has no Java 17 or newer: install one" >&2
    exit 1
fi
