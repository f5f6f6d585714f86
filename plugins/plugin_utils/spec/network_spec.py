# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parts of a Skupper network: a Site, its link to the hub, and the listener of the SuperLink."""

from __future__ import annotations

import datetime
from dataclasses import dataclass, field
from typing import Annotated

from ..base.formats import duration
from .part_spec import Flag, Labels, Listed, Number, PartSpec, Text

NO_ACCESS = ("", "none")
Duration = Annotated[datetime.timedelta | None, duration]


@dataclass(frozen=True)
class NetworkSiteSpec(PartSpec):
    """A Site of the network, and the controller that serves it.

    Attributes:
        hub: whether it is the hub's.
        version: of Skupper.
    """

    hub: Flag = False
    name: Text = ""
    link_access: Text = ""
    ha: Flag = False
    edge: Flag = False
    settings: Labels = field(default_factory=dict)
    controller: Text = ""
    api_server: Listed = field(default_factory=list)
    allowed_sources: Listed = field(default_factory=list)
    egress: Listed = field(default_factory=list)
    install: Text = ""
    scope: Text = ""
    manifests: Text = ""
    manifests_checksum: Text = ""
    operator_namespace: Text = ""
    operator_channel: Text = ""
    operator_source: Text = ""
    operator_source_namespace: Text = ""
    operator_csv: Text = ""
    operator_approval: Text = ""

    @property
    def site_name(self) -> str:
        """Name of the Site in the network."""
        return self.name or self.cluster

    @property
    def has_access(self) -> bool:
        """Whether other sites may link to this one."""
        return self.link_access not in NO_ACCESS


@dataclass(frozen=True)
class LinkSpec(PartSpec):
    """The link of a site to the hub."""

    hub_namespace: Text = ""
    mode: Text = ""
    name: Text = ""
    cost: Number = 0
    proxy_secret: Text = ""
    window: Duration = None
    renew_before: Duration = None


@dataclass(frozen=True)
class ListenerSpec(PartSpec):
    """The listener of a site, or the hub's connector."""

    host: Text = ""
    port: Number = 0
    routing_key: Text = ""

    @property
    def key(self) -> str:
        """The routing key."""
        return self.routing_key or f"{self.federation}-fleet"
