# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the SuperLink lists: its SuperNodes and its runs, asked together."""

from __future__ import annotations

from typing import Any

from .cli import ALL_RUNS, LISTING_SECONDS, Answer, FlowerCLI, listing, nodes_of
from .runs import runs_of

#: How many of the newest runs are read to be shown: each costs, see C(cli.listing), and a SuperLink keeps all that it ever had.
SHOWN = 100


def read(cli: FlowerCLI, most: int = ALL_RUNS) -> tuple[dict[str, dict[str, Any]], list[dict[str, Any]]]:
    """Ask for both in one exec.

    Args:
        cli: calls Flower at the hub.
        most: of how many runs, the newest ones.

    Raises:
        FlowerError: the SuperLink does not answer, or cannot list them.
    """
    nodes, runs = cli.do([cli.command("supernode", "list"), cli.command(*listing(most))], seconds=LISTING_SECONDS)
    return listed(nodes, runs, cli.cluster.name)


def listed(nodes: Answer, runs: Answer, hub: str) -> tuple[dict[str, dict[str, Any]], list[dict[str, Any]]]:
    """Read both answers. Pure.

    Args:
        nodes: answer to C(flwr supernode list).
        runs: answer to C(listing).
        hub: name of the hub, for the message.

    Returns:
        Node id (text) -> its state; the runs, with their ids as text.

    Raises:
        FlowerError: the SuperLink could not list one of them.
    """
    return nodes_of(nodes, hub), [{**run, "run-id": str(run["run-id"])} for run in runs_of(runs, hub)]
