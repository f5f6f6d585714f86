# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Event source for ansible-rulebook: its input and output. What it decides is in plugin_utils/fleet/event_planner.py."""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ansible_rulebook.event_source import webhook

if TYPE_CHECKING:
    from ansible_collections.federated.flower.plugins.plugin_utils.fleet import (
        event_planner,
        event_request,
        known_fleet,
    )
else:
    # ansible-rulebook has no loader of collections, and Ansible's own would change how ansible-rulebook finds its files. So the
    # plugins of this collection are made a package by their place.
    if "federated_flower" not in sys.modules:
        sys.modules["federated_flower"] = ModuleType("federated_flower")
        sys.modules["federated_flower"].__path__ = [str(Path(__file__).resolve().parents[4] / "plugins")]
    from federated_flower.plugin_utils.fleet import event_planner, event_request, known_fleet

DOCUMENTATION = r"""
---
short_description: Turn webhooks and changes of the inventory into actions on a federation
description:
  - Receives messages of Alertmanager and of others by a webhook (C(eda.builtin.webhook)), and reads the inventory regularly.
  - Emits events with C(do) (C(repair), C(heal), C(deploy), C(rotate), C(fetch) or C(report)), C(meta.hosts), which limits the playbook, and
    C(run_ids) of C(fetch). Nothing else of a message is passed on.
  - A site that is not in the inventory is refused, and so is an alert of another federation, and a message without the secret. The log has the reason.
options:
  port:
    description: Port of the webhook. There is none without it.
    type: int
  host:
    description: Address at which the webhook listens.
    type: str
    default: 127.0.0.1
  token:
    description: Token that senders pass as C(Authorization: Bearer). This or O(hmac_secret) is required with O(port).
    type: str
  hmac_secret:
    description: Key with which senders sign messages, in the header C(X-Hub-Signature-256) as C(sha256=) and hex digits.
    type: str
  certfile:
    description: File with the certificate of the webhook (PEM). Without it, messages and token are not encrypted.
    type: str
  keyfile:
    description: File with its key.
    type: str
  password:
    description: Password of the key.
    type: str
  cafile:
    description: File with CA certificates. Senders need a client certificate of one of them.
    type: str
  inventory:
    description: File or folder of the inventory. This or O(sites) is required.
    type: str
  sites:
    description: Names of the sites, where the inventory is elsewhere, for example on a controller.
    type: list
    elements: str
  namespaces:
    description:
      - Namespaces of the federation. An alert with another one in its label C(namespace) is refused.
      - Without it, those that O(inventory) sets for hub and sites (C(superlink_namespace), C(supernode_namespace), C(flower_namespace)); else V(flower).
    type: list
    elements: str
  hub_group:
    description: Group of the hub.
    type: str
    default: flower_hub
  sites_group:
    description: Group of the sites.
    type: str
    default: flower_sites
  outputs_directory:
    description: Folder to which rules fetch outputs, an absolute path. Without it, C(fetch) is refused.
    type: str
  watch:
    description: Seconds between two readings of the inventory. V(0) does not watch it.
    type: float
    default: 60
  gather:
    description: Seconds for which messages are collected before anything is done.
    type: float
    default: 5
  alerts:
    description: Actions of alerts, in addition to the known ones. V(repair) and V(heal) need the label C(site), V(fetch) the label C(run_id).
    type: dict
  repairs:
    description: Repairs of a site in 24 hours.
    type: int
    default: 3
  pause:
    description: Seconds between two repairs of a site.
    type: float
    default: 900
  most:
    description: Sites that are repaired, healed or deployed at once. If there are more, there is only a report.
    type: int
    default: 20
"""

EXAMPLES = r"""
- federated.flower.fleet_events:
    port: 5000
    token: "{{ FLOWER_EVENT_TOKEN }}"
    inventory: /etc/flower/inventory
"""

# Not that of __name__: ansible-rulebook runs this file as if it was a program. It shows warnings and errors only, so what is started is a warning.
_log = logging.getLogger("federated.flower.fleet_events")
# Seconds after which an inventory is read again before a message is judged.
_FRESH = 60.0
# Requests that wait. A fleet has no more, so what comes in addition is of no use.
_WAITING = 2000
_SAID_AT_ONCE = 20


class FleetEvents:
    """The source.

    Args:
        queue: where events are put for the rules.
        options: the options.
    """

    def __init__(self, queue: asyncio.Queue[Any], options: event_request.SourceOptions) -> None:
        self._queue = queue
        self._options = options
        self._planner = event_planner.Planner(options.repairs, options.pause, options.most, bool(options.outputs_directory))
        self._waiting: set[event_request.Request] = set()
        self._refused: set[str] = set()
        self._woken = asyncio.Event()
        self._fleet = known_fleet.from_names(options.sites, options.hub_group, options.sites_group)
        self._read_at = float("-inf")

    async def run(self) -> None:
        """Work until the process ends.

        Raises:
            ListingError: the inventory cannot be read at the start. Later this is a warning, and the last reading counts.
        """
        tasks = [self._act()]
        if self._options.inventory:
            await self._read()
            if self._options.watch:
                tasks.append(self._watch())
        if self._options.webhook:
            tasks.append(webhook.main(self, self._options.webhook))
        await asyncio.gather(*tasks)

    async def put(self, event: dict[str, Any]) -> None:
        """Take a message from the webhook."""
        namespaces = self._options.namespaces or self._fleet.namespaces
        self._add(*event_request.parse_requests(event.get("payload"), self._options.alerts, namespaces))

    def _add(self, requests: Iterable[event_request.Request], refused: Iterable[str] = ()) -> None:
        self._waiting.update(islice(requests, _WAITING - len(self._waiting)))
        self._refused.update(islice(refused, _WAITING - len(self._refused)))
        self._woken.set()

    async def _act(self) -> None:
        """Bring together what comes within some seconds, and do it."""
        while True:
            await self._woken.wait()
            await asyncio.sleep(self._options.gather)
            if self._options.inventory and time.monotonic() - self._read_at > _FRESH:
                await self._read_again()
            self._woken.clear()
            requests, refused = self._waiting, self._refused
            self._waiting, self._refused = set(), set()
            events, more = self._planner.plan(requests, self._fleet, time.monotonic())
            self._say([f"refused: {reason}" for reason in [*sorted(refused), *more]])
            for event in events:
                _log.warning("%s, limited to %s", event["do"], ",".join(event["meta"]["hosts"]))
                await self._queue.put(event)

    async def _watch(self) -> None:
        """Have sites deployed that are new or have changed, and missing ones reported."""
        seen = self._fleet.sites
        while True:
            await asyncio.sleep(self._options.watch)
            await self._read_again()
            joined, changed, left = known_fleet.changes(seen, self._fleet.sites)
            seen = self._fleet.sites
            for names, what in ((joined, "new"), (changed, "changed"), (left, "no longer there")):
                self._say([f"inventory: {what}: {', '.join(names)}"] if names else [])
            wanted = [event_request.Request(event_request.DEPLOY, name) for name in (*joined, *changed)]
            self._add([*wanted, *(event_request.Request(event_request.REPORT, name) for name in left)])

    async def _read(self) -> None:
        listed = await known_fleet.list_inventory(self._options.inventory)
        fleet = known_fleet.from_inventory(listed, self._options.hub_group, self._options.sites_group)
        if not fleet.sites:
            raise known_fleet.ListingError(f"inventory {self._options.inventory}: group {self._options.sites_group} has no hosts")
        self._fleet, self._read_at = fleet, time.monotonic()

    async def _read_again(self) -> None:
        try:
            await self._read()
        except known_fleet.ListingError as error:
            self._say([f"{error}. The sites that were known before count"])

    @staticmethod
    def _say(lines: list[str]) -> None:
        for line in lines[:_SAID_AT_ONCE]:
            _log.warning("%s", line)
        if len(lines) > _SAID_AT_ONCE:
            _log.warning("and %d more", len(lines) - _SAID_AT_ONCE)


async def main(queue: asyncio.Queue[Any], args: dict[str, Any]) -> None:
    """Entry point of ansible-rulebook."""
    await FleetEvents(queue, event_request.read_options(args)).run()
