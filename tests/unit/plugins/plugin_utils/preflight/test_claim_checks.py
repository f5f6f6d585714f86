# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Claims of the hub that go away with their pod."""

from __future__ import annotations

from ansible_collections.federated.flower.plugins.plugin_utils.preflight import claim_checks


def test_a_claim_that_was_deleted_is_named_while_its_data_can_still_be_saved() -> None:
    kept = {"metadata": {"namespace": "flower", "name": "superlink-outputs"}}
    gone = {"metadata": {"namespace": "flower", "name": "data-superlink-0", "deletionTimestamp": "2026-11-26T22:25:00Z"}}
    assert claim_checks.warnings([None, kept]) == []
    (said,) = claim_checks.warnings([gone, kept])
    assert "flower/data-superlink-0 was deleted at 2026-11-26T22:25:00Z" in said and "federated.flower.backup" in said
