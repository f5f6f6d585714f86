# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The Secret with credentials for the tracking server, where variables have them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..base.errors import ClusterError
from ..base.object_names import TRACKING_SECRET
from ..base.secret_data import secret
from ..base.values import text
from ..spec.hub_spec import HubSpec

WORDS = (
    f"Secret {TRACKING_SECRET} has new credentials. The ServerApp's pod has them after it was replaced; do that when no run is active, for example "
    "with kubectl rollout restart"
)


def secrets(spec: HubSpec, given: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The Secret; none without credentials.

    Args:
        spec: the hub.
        given: name of a credential -> value.

    Raises:
        ClusterError: a value cannot be sent to a server. The value is not part of the message.
    """
    values = {name: text(given.get(name)) for name in spec.tracking_credentials}
    for name, value in values.items():
        if not value or not (value.isascii() and value.isprintable()):
            raise ClusterError(
                f"superlink_tracking_credentials: {name} is empty or contains characters other than printable ASCII; MLflow sends it in a "
                "header of HTTP"
            )
    if not spec.tracking.uri or not values:
        return []
    return [secret(spec.federation, spec.namespace, TRACKING_SECRET, values, application="superlink")]


def is_changed(objects: Iterable[Mapping[str, Any]]) -> bool:
    """Whether the Secret was there before, with other content."""
    return any((one["kind"], one["name"], one["change"]) == ("Secret", TRACKING_SECRET, "changed") for one in objects)
