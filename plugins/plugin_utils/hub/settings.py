# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Options of the modules C(certificates) and C(preflight) about the gateway's certificate.

Documented in doc_fragments/certificates.py. What else a source takes is in the spec: C(certificates_source), C(issuer),
C(certificate_secret), C(certificate_days), C(renew_before), C(ca_bundle). Here is what must be in no spec, since specs are
shown and compared: private keys, and certificates with them.
"""

from __future__ import annotations

from typing import Any

OPTIONS: dict[str, dict[str, Any]] = {
    "ca_namespace": {"type": "str", "default": "flower-ca"},
    "ca_certificate": {"type": "str", "default": ""},
    "ca_key": {"type": "str", "default": "", "no_log": True},
    "certificate": {"type": "str", "default": ""},
    "certificate_key": {"type": "str", "default": "", "no_log": True},
    "sites": {"type": "list", "elements": "str", "default": []},
}
