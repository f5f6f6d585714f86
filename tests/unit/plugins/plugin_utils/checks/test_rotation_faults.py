# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from ansible_collections.federated.flower.plugins.plugin_utils.checks.certificate_rules import rotation_problems
from ansible_collections.federated.flower.tests.unit.rows import each_row

GOOD = {
    "grace": 3600, "wait": 0, "wait_timeout": 300, "proof_timeout": 120, "certificate_days": 90, "ca_days": 3650, "renew_before": "",
    "ca_renew_before": "1h",
}  # fmt: skip


def test_what_is_right():
    assert rotation_problems(GOOD, "hub") == []


@each_row(
    ("option", "value", "words"),
    [
        ("grace", -1, "hub: cert_rotation_grace: -1 is not between"),
        ("wait_timeout", -5, "cert_rotation_wait_timeout: -5"),
        ("certificate_days", 0, "cert_rotation_certificate_days: 0 is not between 1 and 36500"),
        ("ca_days", 0, "cert_rotation_ca_days: 0"),
        ("renew_before", "soon", "cert_rotation_renew_before: 'soon' is not a duration like 30d"),
        (
            "renew_before",
            "90d",
            "cert_rotation_renew_before: '90d' is not between 0 and the 90 days of cert_rotation_certificate_days",
        ),
        ("ca_renew_before", "4000d", "the 3650 days of cert_rotation_ca_days"),
    ],
)
def test_what_is_wrong(option, value, words):
    (found,) = rotation_problems({**GOOD, option: value}, "hub")
    assert words in found.message
