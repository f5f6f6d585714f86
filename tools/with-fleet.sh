#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# with-fleet.sh COMMAND…: run COMMAND with FLOWER_FLEET_KUBECONFIG naming a kubeconfig whose contexts are the fleet.
# A caller's own clusters are taken as they are; else the test fleet is used, started if it is not running, with the add-on
# that FLEET_ADDON names.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
if [ -z "${FLOWER_FLEET_KUBECONFIG:-}" ]; then
    sh "$here/tests/fleet/fleet" up
    [ -z "${FLEET_ADDON:-}" ] || sh "$here/tests/fleet/fleet" addon "$FLEET_ADDON" up
    FLOWER_FLEET_KUBECONFIG=$(sh "$here/tests/fleet/fleet" kubeconfig)
fi
export FLOWER_FLEET_KUBECONFIG
exec "$@"
