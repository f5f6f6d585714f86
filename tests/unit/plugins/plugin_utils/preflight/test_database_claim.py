# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The volume with the SuperLink's database: a claim template that exists does not change, so no run may try to."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.backup import volume_pod
from ansible_collections.federated.flower.plugins.plugin_utils.manifests import superlink
from ansible_collections.federated.flower.plugins.plugin_utils.preflight import database_claim


def claim(size: str) -> dict[str, Any]:
    return {"spec": {"resources": {"requests": {"storage": size}}}}


def test_another_size_is_no_other_template(parsed_hub: Any) -> None:
    live = superlink.stateful_set(parsed_hub(storage_size="10Gi"))
    made = database_claim.made_size(live)
    later = parsed_hub(storage_size="50Gi", made_storage_size=made)
    assert (made, superlink.stateful_set(later)) == ("10Gi", live)
    assert superlink.stateful_set(parsed_hub(storage_size="50Gi")) != live
    assert database_claim.made_size(None) == ""


def test_a_new_claim_has_the_size_that_the_variable_has(parsed_hub: Any) -> None:
    made = volume_pod.claim(parsed_hub(storage_size="50Gi"), "backup")
    assert made["spec"]["resources"]["requests"]["storage"] == "50Gi"


@pytest.mark.parametrize(("there", "wanted", "is_small"), [("10Gi", "50Gi", True), ("50Gi", "50Gi", False), ("60Gi", "50Gi", False), ("1024Mi", "1Gi", False)])
def test_a_claim_that_is_too_small_comes_with_the_command(parsed_hub: Any, there: str, wanted: str, is_small: bool) -> None:
    words = database_claim.warning(parsed_hub(storage_size=wanted), claim(there))
    assert bool(words) is is_small
    if is_small:
        assert words.startswith("superlink_storage_size: 50Gi is for new volumes; the volume with the SuperLink's database has 10Gi.")
        assert words.endswith("""kubectl patch pvc data-superlink-0 -n flower -p '{"spec": {"resources": {"requests": {"storage": "50Gi"}}}}'""")
    assert database_claim.warning(parsed_hub(storage_size=wanted), None) == ""


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ({}, {}, ""),
        ({"storage_class": "fast"}, {"storage_class": "fast", "storage_size": "50Gi", "made_storage_size": "10Gi"}, ""),
        ({"storage_class": "fast"}, {"storage_class": "slow"}, "superlink_storage_class: the volume with the SuperLink's database was made with fast,"),
        ({}, {"storage_class": "slow"}, "made with no StorageClass named (the cluster's default then), which cannot change to slow"),
        ({}, {"storage_access_mode": "ReadWriteOncePod"}, "superlink_storage_access_mode: the volume"),
    ],
)
def test_what_cannot_change(parsed_hub: Any, before: dict[str, Any], after: dict[str, Any], words: str) -> None:
    live, rendered = (superlink.stateful_set(parsed_hub(**{"storage_size": "10Gi", **changes})) for changes in (before, after))
    found = database_claim.fault(rendered, live)
    assert words in found and bool(words) is bool(found)
    assert database_claim.fault(rendered, None) == ""
