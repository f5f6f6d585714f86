# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Names of the volumes that the roles' own pods have, and where their containers mount them: users cannot take these. Pure."""

from __future__ import annotations

from ..base.object_names import RUNTIME_CA_DIR, RUNTIME_CA_VOLUME, TUNNEL_VOLUMES

# Of the SuperLink's pod, and of the ServerApp's.
SUPERLINK_VOLUMES = frozenset({
    "data", "internal", "cli", "sl-home", "gw-run", "gw-conf", "internal-ca", "gw-certs", "gw-next", "gw-clients", "rt-certs",
    "superexec", "metrics-control",
})  # fmt: skip
SUPERLINK_PATHS = frozenset({"/data", "/internal", "/flwr", "/flwr/config.toml", "/run/gw", "/superexec"})
SERVERAPP_VOLUMES = frozenset({"internal-ca", "superexec", "tmp", "shm"})
SERVERAPP_PATHS = frozenset({"/internal-ca", "/superexec", "/tmp"})
# Of either.
HUB_VOLUMES = SUPERLINK_VOLUMES | SERVERAPP_VOLUMES
HUB_PATHS = SUPERLINK_PATHS | SERVERAPP_PATHS
# Of the pods of a site.
SITE_VOLUMES = frozenset({
    "trust", "keys", "gw-run", "gw-conf", "local", "local-ca", "client", "superexec", "tmp", "shm", RUNTIME_CA_VOLUME, *TUNNEL_VOLUMES,
})  # fmt: skip
SITE_PATHS = frozenset({"/keys", "/trust", "/local-ca", "/superexec", "/tmp", RUNTIME_CA_DIR})
