# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the hub's credentials must cover, and what of it is in the cluster. Plain data."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..base.secret_data import entries


@dataclass(frozen=True)
class Wanted:
    """What the hub's credentials must be good for.

    Attributes:
        federation: name of the federation, for labels and subjects.
        namespace: the SuperLink's namespace.
        ca_namespace: namespace of the CA keys, apart from the workload.
        names: DNS names and IP addresses for a certificate of the gateway.
        lifetime: of the gateway's certificate.
        ca_lifetime: of both CAs.
        needed: names in the gateway's certificate that sites verify -> who verifies them. From any source, it must cover
            them; they are among C(names).
        renew_before: how long before its expiry the gateway's certificate is renewed; None for half of its lifetime.
        name_variable: the variable that decides which name sites verify.
        lost_sites: a site whose own variables keep it from the gateway -> the fault, see C(gateway_names.Routing).
    """

    federation: str
    namespace: str
    ca_namespace: str
    names: Sequence[str]
    lifetime: datetime.timedelta
    ca_lifetime: datetime.timedelta
    needed: Mapping[str, str] = field(default_factory=dict)
    renew_before: datetime.timedelta | None = None
    name_variable: str = "flower_server_name"
    lost_sites: Mapping[str, str] = field(default_factory=dict)


class Ref(NamedTuple):
    """One object of the hub's cluster, or with an empty C(name) all of its kind in the namespace."""

    api_version: str
    kind: str
    namespace: str
    name: str


def secret_ref(namespace: str, name: str) -> Ref:
    """The reference of a Secret."""
    return Ref("v1", "Secret", namespace, name)


class Observed(dict[Ref, Any]):
    """What was read: reference -> live object, None where there is none, a list for an empty name.

    Attributes:
        unserved: references whose kind the API server does not know.
    """

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.unserved: set[Ref] = set()

    def entries(self, namespace: str, name: str) -> dict[str, str]:
        """Decoded entries of a Secret with ASCII text; empty when there is no such Secret.

        Raises:
            KeyError: it was never read. It must not be treated as absent, since it would be recreated.
        """
        return entries(self[secret_ref(namespace, name)])
