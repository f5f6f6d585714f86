#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# demo.sh up|down [ocm|skupper]: the real thing on one machine (or on the contexts of FLOWER_FLEET_KUBECONFIG). With ocm, Open Cluster
# Management delivers to the sites, and nothing else reaches them. With skupper, the sites join through Skupper, which is the one
# counterpart that a stand-in plays (tests/skupper_standin).
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
addon=${2:-}
inventory=$here/inventories/demo${addon:+-$addon}
start=$SECONDS
step() { printf '\n--- %s (%s s)\n' "$1" "$((SECONDS - start))"; }
fleet() { sh "$here/tests/fleet/fleet" "$@"; }
own_clusters=${FLOWER_FLEET_KUBECONFIG:-}

case ${1:-} in
up)
    if [ -z "$own_clusters" ]; then
        step "the fleet"
        fleet up
        case $addon in
        ocm) step "Open Cluster Management" ;;
        skupper) step "the stand-in for Skupper" ;;
        esac
        [ -z "$addon" ] || fleet addon "$addon" up
        FLOWER_FLEET_KUBECONFIG=$(fleet kubeconfig)
    fi
    export FLOWER_FLEET_KUBECONFIG  # from here on: the fleet's own commands take it for clusters of somebody else's
    step "the federation"
    ansible-playbook -i "$inventory" federated.flower.site
    step "a run"
    ansible-playbook -i "$inventory" federated.flower.run -e "flower_app=$here/examples/quickstart"
    step "the report"
    ansible-playbook -i "$inventory" federated.flower.status
    step "done; 'make demo${addon:+-$addon}-down' removes it"
    ;;
down)
    # The clusters of the test fleet go away whole; clusters that were given are left as they were found.
    if [ -n "$own_clusters" ]; then
        ansible-playbook -i "$inventory" federated.flower.teardown -e flower_teardown=true -e flower_delete_volumes=true
    else
        fleet down
    fi
    ;;
*)
    echo "usage: demo.sh up|down [ocm|skupper]" >&2
    exit 2
    ;;
esac
