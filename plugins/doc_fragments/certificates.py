# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations


class ModuleDocFragment:
    """Options of the gateway's certificate that are not part of a specification."""

    DOCUMENTATION = r"""
options:
  ca_namespace:
    description:
      - Namespace of the CA keys.
    type: str
    default: flower-ca
  ca_certificate:
    description:
      - Certificate of a CA that the user provides, PEM, optionally followed by those of its issuers up to the root. Empty for
        the federation's own CA.
    type: str
    default: ""
  ca_key:
    description:
      - Private key of O(ca_certificate), PEM. It is never stored.
    type: str
    default: ""
  certificate:
    description:
      - An existing certificate with its chain, PEM.
    type: str
    default: ""
  certificate_key:
    description:
      - Private key of O(certificate), PEM.
    type: str
    default: ""
  sites:
    description:
      - Inventory names of the sites. Their variables C(supernode_superlink_address), C(supernode_server_name) and
        C(supernode_sidecar) say which names they verify.
    type: list
    elements: str
    default: []
"""

    CA = r"""
options:
  ca_namespace:
    description:
      - Namespace of the CA keys.
    type: str
    required: true
"""
