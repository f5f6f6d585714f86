# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Refuse a run whose SuperNodes lack a dataset, before it is submitted."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..kube.api_errors import Forbidden
from ..ledger import dataset_index
from ..ledger.store import DATASETS, Ledger
from .cli import FlowerCLI, FlowerError

# A reply is bound to the version that it answers.
_ANSWER = "its reply to that version shows it (federated.flower.join)"
_REMEDY = (
    "Give them the dataset (supernode_datasets) and run federated.flower.site, or leave it out of flower_run_datasets"
)


def require(cli: FlowerCLI, wanted: Sequence[str], say: Callable[[str], None]) -> dict[str, list[str]]:
    """Check that every SuperNode that is online has some datasets.

    Args:
        cli: Flower's command line on the hub.
        wanted: names of datasets. Without any, nothing is asked.
        say: shows which sites have which dataset.

    Returns:
        Dataset -> sites that have it.

    Raises:
        FlowerError: some lack one, by site and pool; no SuperNode is online; or it cannot be known.
    """
    if not wanted:
        return {}
    hub, namespace = cli.cluster, cli.namespace
    try:
        index = Ledger(hub, namespace, "", check=True).read_datasets()
    except Forbidden as error:
        raise FlowerError(
            f"which sites have the datasets {', '.join(wanted)} is not known: {error.message} The playbook federated.flower.rbac gives data "
            f"scientists the right to read ConfigMap {namespace}/{DATASETS}"
        ) from error
    online = [node for node, facts in cli.nodes().items() if facts.get("status") == "online"]
    if not online:
        raise FlowerError(
            f"no SuperNode is online at {hub.name}, so no site can provide the datasets {', '.join(wanted)}; "
            "federated.flower.status says why"
        )
    missing = dataset_index.lacking(index, wanted, online)
    if missing:
        doubts = [f"{one}: {_ANSWER}" for one in dataset_index.doubts(index, wanted, online)]
        raise FlowerError(
            f"nothing was submitted, because SuperNodes that are online lack datasets: {'; '.join([*missing, *doubts])}. {_REMEDY}"
        )
    found = dataset_index.holders(index, wanted)
    for name in dict.fromkeys(wanted):
        say(f"dataset {name}: {', '.join(found[name])}")
    return {name: found[name] for name in wanted}
