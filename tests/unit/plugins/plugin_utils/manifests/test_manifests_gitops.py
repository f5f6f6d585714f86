# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a GitOps controller may have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible import constants

from ansible_collections.federated.flower.plugins.plugin_utils.actions import check_notes
from ansible_collections.federated.flower.plugins.plugin_utils.manifests import (
    gitops,
    gitops_objects,
    superlink,
    supernode,
)
from ansible_collections.federated.flower.tests.unit.read import ROOT
from ansible_collections.federated.flower.tests.unit.rows import each_row


def item(kind: str, name: str = "a", **meta: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": "flower", **meta}}


@each_row("kind", ["Secret", "ConfigMap", "Namespace", "PersistentVolumeClaim", "PersistentVolume", "ManifestWork", "ManagedClusterAddOn"])
def test_what_stays_with_the_playbooks(kind: str) -> None:
    assert gitops_objects.chosen([item(kind), item("Service")]) == [item("Service")]


def test_the_guide_has_every_kind(parsed_hub: Any, parsed_site: Any) -> None:
    """Who runs a GitOps controller grants it rights by that list."""
    metrics = {"enabled": True, "image": "registry.example.com/metrics:1", "monitor": True, "acm": True}
    hubs: list[dict[str, Any]] = [
        {"metrics": metrics},
        {"exposure": "route", "host": "hub.example.com", "certificates_source": "cert_manager", "issuer": {"name": "x"}},
        {"exposure": "ingress", "host": "hub.example.com", "outputs_enabled": False},
    ]
    rendered = [one for changes in hubs for one in superlink.objects(parsed_hub(**changes))]
    for pool in ({"replicas": 2}, {"mode": "DaemonSet"}):
        rendered += supernode.objects(parsed_site(pools=[{"name": "one", **pool, "node_config": {}}], allocation={}))
    page = (ROOT / "docs/docsite/rst/guide_gitops.rst").read_text(encoding="utf-8")
    assert {one["kind"] for one in gitops_objects.chosen(rendered) if f"``{one['kind']}``" not in page} == set()


def test_each_object_once_and_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "DEFAULT_LOCAL_TMP", str(tmp_path))
    check_notes.add_objects("hub", [item("Service", "b"), item("Service", "a", labels={"x": "old"}), item("Secret")])
    check_notes.add_objects("hub", [item("Service", "a", labels={"x": "new"}), item("Deployment", "z")])
    check_notes.add_objects("empty", [item("Secret")])
    found = check_notes.objects_of("hub")
    assert found == [item("Deployment", "z"), item("Service", "a", labels={"x": "new"}), item("Service", "b")]
    assert check_notes.objects_of("empty") == [] and check_notes.objects_of("other") is None
    written = gitops.text("hub", "flower", "lab", found)
    assert list(yaml.safe_load_all(written)) == found
    assert written.startswith(gitops.HEADER)


@pytest.mark.parametrize("value", ["1e3", "1.5E-3", "-.5", "0089", "0o17", "0X1F", "-0b1", "0_8", "2026-1-2", "2026-1-2 3:4:5", "y", "N"])
def test_text_stays_text_for_readers_of_go(value: str) -> None:
    """kustomize and kubectl read these as numbers, dates or booleans without quotes, and the API server refuses those in annotations and environments."""
    assert gitops.manifest([{"annotations": {value: value}}]).splitlines()[2] == f"  '{value}': '{value}'"


@pytest.mark.parametrize("value", ["100m", "1Gi", "10.97.0.1", "10.97.0.1:9092", "1e", "yes-or-no", "2026-1-2 by jane", "v1"])
def test_other_text_has_no_quotes(value: str) -> None:
    assert gitops.manifest([{"a": value}]) == f"---\na: {value}\n"


def test_a_file_of_another_federation_is_not_overwritten() -> None:
    found = gitops.text("site-a", "lyon", "flower", [item("Service")])
    assert gitops.fault(found, "site-a", "lyon", "flower") == ""
    for whose, named in ((("boston", "flower"), "boston in namespace flower"), (("lyon", "flower-2"), "lyon in namespace flower-2")):
        fault = gitops.fault(found, "site-a", *whose)
        assert fault.startswith("has the objects of the federation lyon in namespace flower, and is not overwritten"), fault
        assert f"with those of {named}: " in fault and "at site-a" in fault and "flower_render_directory" in fault


@pytest.mark.parametrize("found", ["", "mine: true\n"])
def test_a_file_of_someone_else_is_not_overwritten(found: str) -> None:
    assert gitops.fault(found, "site-a", "lyon", "flower").startswith("was not written by federated.flower.render")
