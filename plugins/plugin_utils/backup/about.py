# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a backup says about itself: of which federation it is, when it was made, and with which versions. Pure."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from typing import Any

from ..base.errors import ClusterError

# The layout of archives. Raise it when a reader of the older layout would misread the new one.
SCHEMA = 1
_NAME = re.compile(r"flower-backup-(?P<federation>[a-z0-9]([-a-z0-9]*[a-z0-9])?)-[0-9]{8}T[0-9]{6}Z\.tar")


@dataclasses.dataclass(frozen=True)
class About:
    """The head of an archive.

    Attributes:
        federation: name of the federation.
        hub: the hub's identity in the ledger; two hubs may have federations of one name.
        made: when the copy was started, as C(20261123T201500Z), in UTC.
        collection: version of this collection.
        flower: version of Flower on the hub.
        schema: layout of the archive.
    """

    federation: str
    hub: str
    made: str
    collection: str
    flower: str
    schema: int = SCHEMA

    @property
    def file_name(self) -> str:
        """The archive's name, which sorts by time within a federation."""
        return f"flower-backup-{self.federation}-{self.made}.tar"

    @property
    def at(self) -> str:
        """When the copy was started, ISO 8601."""
        text = self.made
        return f"{text[:4]}-{text[4:6]}-{text[6:11]}:{text[11:13]}:{text[13:15]}+00:00"

    def as_data(self) -> dict[str, Any]:
        """For JSON."""
        return dataclasses.asdict(self)


def is_archive_name(name: str, federation: str) -> bool:
    """Whether a file can be an archive of this federation by its name."""
    match = _NAME.fullmatch(name)
    return match is not None and match["federation"] == federation


def parse(data: Any, where: str) -> About:
    """The head of an archive.

    Args:
        data: what its JSON contains.
        where: the archive, for the error.

    Raises:
        ClusterError: it is not such a head, or of a layout that this version of the collection does not read.
    """
    if not isinstance(data, Mapping) or not isinstance(data.get("schema"), int):
        raise ClusterError(
            f"{where} is not a backup of this collection: its about.json has no schema. Choose another file"
        )
    if data["schema"] != SCHEMA:
        age = "newer" if data["schema"] > SCHEMA else "older"
        raise ClusterError(
            f"{where} has schema {data['schema']}, which is {age} than the one that this collection reads ({SCHEMA}): restore it "
            f"with version {data.get('collection', 'unknown')} of the collection, which wrote it"
        )
    fields = {field.name for field in dataclasses.fields(About)}
    if set(data) != fields or not all(isinstance(data[name], str) and data[name] for name in fields - {"schema"}):
        raise ClusterError(
            f"{where} is not a backup of this collection: its about.json is incomplete. Choose another file"
        )
    return About(**data)


def foreign(about: About, federation: str, hub: str, where: str) -> str:
    """Why an archive is not to be restored for a federation: a sentence; empty if it may be.

    Args:
        hub: identity of the hub that stands there; empty when there is none, as in a namespace that is empty.
    """
    if about.federation != federation:
        return f"{where} is a backup of the federation {about.federation}, not of {federation}. Choose another file"
    if hub and about.hub != hub:
        return f"{where} is a backup of another hub, whose federation is also named {federation}. Choose another file"
    return ""
