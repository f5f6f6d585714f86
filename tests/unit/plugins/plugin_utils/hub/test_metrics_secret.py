# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Secret of the gateway's port for metrics."""

from __future__ import annotations

import datetime

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.base.secret_data import encode, entries
from ansible_collections.federated.flower.plugins.plugin_utils.hub import secret_plan
from ansible_collections.federated.flower.plugins.plugin_utils.pki import certificates

OWNER = {"metadata": {"uid": "1-2-3"}}


@pytest.fixture
def ca():
    return certificates.make_ca("internal", datetime.timedelta(days=3650))


@pytest.fixture
def spec(parsed_hub):
    return parsed_hub(metrics={"enabled": True, "image": "x"})


def test_it_is_made_once_and_belongs_to_the_program(spec, ca):
    (found,) = secret_plan.metrics_secrets(spec, ca, None, OWNER)
    assert found["metadata"]["name"] == "superlink-metrics"
    assert [(one["kind"], one["uid"]) for one in found["metadata"]["ownerReferences"]] == [("ConfigMap", "1-2-3")]
    assert set(entries(found)) == {"tls.crt", "tls.key", "ca.crt", "token"} and len(entries(found)["token"]) == 44
    assert secret_plan.metrics_secrets(spec, ca, found, OWNER) == []


def test_without_metrics_there_is_none(parsed_hub, ca):
    assert secret_plan.metrics_secrets(parsed_hub(), ca, None, None) == []


def test_a_restored_one_gets_its_owner_and_keeps_its_content(spec, ca):
    (made,) = secret_plan.metrics_secrets(spec, ca, None, OWNER)
    del made["metadata"]["ownerReferences"]
    (found,) = secret_plan.metrics_secrets(spec, ca, made, OWNER)
    assert found["data"] == made["data"] and found["metadata"]["ownerReferences"]


def test_another_ca_or_a_lost_entry_makes_it_new(spec, ca):
    (made,) = secret_plan.metrics_secrets(spec, ca, None, OWNER)
    other = certificates.make_ca("other", datetime.timedelta(days=3650))
    (found,) = secret_plan.metrics_secrets(spec, other, made, OWNER)
    assert found["data"]["token"] != made["data"]["token"] and found["data"]["ca.crt"] == encode(other.certificate)
    del made["data"]["token"]
    assert secret_plan.metrics_secrets(spec, ca, made, OWNER)


def test_in_check_mode_there_is_no_owner_yet(spec, ca):
    (found,) = secret_plan.metrics_secrets(spec, ca, None, None)
    assert "ownerReferences" not in found["metadata"]
