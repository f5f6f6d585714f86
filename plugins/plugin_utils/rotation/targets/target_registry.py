# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""All targets, in the order in which they are rotated. A new one is a file beside this one, and an entry here."""

from __future__ import annotations

from .ca_target import CaTarget
from .client_target import ClientTarget
from .keys_target import KeysTarget
from .leaf_target import LeafTarget
from .secrets_target import SecretsTarget
from .target import Target

TARGETS: dict[str, Target] = {
    one.name: one
    for one in (
        LeafTarget(),
        CaTarget(),
        ClientTarget(),
        KeysTarget(),
        SecretsTarget(),
    )
}
