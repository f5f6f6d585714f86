# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The specification of what is deployed in a cluster."""

from __future__ import annotations

from .hub_spec import HubSpec
from .site_spec import SiteSpec

Spec = HubSpec | SiteSpec
