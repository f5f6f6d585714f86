# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations


class ModuleDocFragment:
    """Where the certificate that the gateway shows to sites comes from."""

    DOCUMENTATION = r"""
options:
  certificates:
    description:
      - Where the certificate that the gateway shows to sites comes from.
    type: dict
    default: {}
    suboptions:
      source:
        description:
          - V(builtin) issues it from a CA of the federation, V(cert_manager) from an issuer of cert-manager in the hub's
            cluster, V(existing) takes one that is brought along.
        type: str
        choices:
          - builtin
          - cert_manager
          - existing
        default: builtin
      days:
        description:
          - Lifetime of a certificate that is issued, in days.
        type: int
        default: 90
      renew_before:
        description:
          - How long before its end it is renewed, C(30d), C(12h), C(10m) or C(40s); a number alone counts days. Empty for
            half of its lifetime.
        type: str
        default: ""
"""
