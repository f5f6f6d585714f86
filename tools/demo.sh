#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# demo.sh up|down [ocm|skupper|study]: the real thing on one machine (or on the contexts of FLOWER_FLEET_KUBECONFIG). With ocm, Open Cluster
# Management delivers to the sites, and nothing else reaches them. With skupper, the sites join through Skupper, which is the one
# counterpart that a stand-in plays (tests/skupper_standin). With study, the sites have tables, and a model comes home (examples/tabular);
# on the machine's own fleet only, whose image of the app is made here, and whose claims hold no data of others.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
variant=${2:-}
inventory=$here/inventories/demo${variant:+-$variant}
start=$SECONDS
step() { printf '\n--- %s (%s s)\n' "$1" "$((SECONDS - start))"; }
fleet() { sh "$here/tests/fleet/fleet" "$@"; }
own_clusters=${FLOWER_FLEET_KUBECONFIG:-}
app=$here/examples/tabular
study=${FLOWER_BUILD:-$here/build}/demo-study

# What a data scientist has on their own machine.
study_python() {
    local python
    python=$(python3 "$here/tools/environment.py" study)
    "$python" -B "$@"
}

run_quickstart() {
    step "a run"
    ansible-playbook -i "$inventory" federated.flower.run -e "flower_app=$here/examples/quickstart"
    step "the report"
    ansible-playbook -i "$inventory" federated.flower.status
}

run_study() {
    step "a table for each site"
    study_python "$app/split.py" "$study/tables" site-a site-b
    ansible-playbook -i "$inventory" "$app/load.yml" -e "study_tables=$study/tables"
    step "a run, and its outputs"
    rm -rf "$study/outputs"
    ansible-playbook -i "$inventory" federated.flower.run -e "flower_app=$app" -e '{"flower_run_datasets": ["biopsies"]}' \
        -e "flower_outputs_directory=$study/outputs" -e flower_run_interval=10
    step "the score of the model, on this machine"
    study_python "$app/score.py" "$study/outputs"/*/
}

if [ "$variant" = study ] && [ -n "$own_clusters" ]; then
    echo "demo.sh: the study runs on the local fleet only: it writes tables to claims and deletes volumes. Unset FLOWER_FLEET_KUBECONFIG," >&2
    echo "or go through docs/docsite/rst/guide_study.rst with an inventory of your own." >&2
    exit 2
fi

case ${1:-} in
up)
    if [ -z "$own_clusters" ]; then
        step "the fleet"
        fleet up
        case $variant in
        ocm)
            step "Open Cluster Management"
            fleet addon ocm up
            ;;
        skupper)
            step "the stand-in for Skupper"
            fleet addon skupper up
            ;;
        study)
            step "the image of the app"
            fleet image tabular
            ;;
        esac
        FLOWER_FLEET_KUBECONFIG=$(fleet kubeconfig)
    fi
    export FLOWER_FLEET_KUBECONFIG  # from here on: the fleet's own commands take it for clusters of somebody else's
    step "the federation"
    ansible-playbook -i "$inventory" federated.flower.site
    if [ "$variant" = study ]; then run_study; else run_quickstart; fi
    step "done; 'make demo${variant:+-$variant}-down' removes it"
    ;;
down)
    # The clusters of the test fleet go away whole; from clusters that were given, the demo's federation does, with its volumes.
    if [ -n "$own_clusters" ]; then
        ansible-playbook -i "$inventory" federated.flower.teardown -e flower_teardown=true -e flower_delete_volumes=true
    else
        fleet down
    fi
    ;;
*)
    echo "usage: demo.sh up|down [ocm|skupper|study]" >&2
    exit 2
    ;;
esac
