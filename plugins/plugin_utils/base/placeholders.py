# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What stands in, in check mode, for what does not exist yet."""

from __future__ import annotations

# Address of a hub whose objects do not exist. A port that no hub has: what sites have for it differs from all that is there, so that a plan
# contains it.
UNKNOWN_ADDRESS = "not-known-yet.invalid:65535"
