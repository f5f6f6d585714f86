# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which files federated.flower.render writes, and which it refuses to write."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from ansible import constants
from ansible.errors import AnsibleActionFail
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar, trust_as_template

from ansible_collections.federated.flower.plugins.action import plan
from ansible_collections.federated.flower.plugins.plugin_utils.actions import check_notes
from ansible_collections.federated.flower.plugins.plugin_utils.apply import field_conflicts
from ansible_collections.federated.flower.plugins.plugin_utils.ocm import addon_objects, app_versions
from ansible_collections.federated.flower.tests.integration.scenarios import flux
from ansible_collections.federated.flower.tests.unit.read import yaml_file
from ansible_collections.federated.flower.tests.unit.rows import each_row


def item(kind: str, name: str = "a") -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": "flower"}}


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A function that runs the module after objects were kept; returns its result."""
    kept, folder = tmp_path / "kept", tmp_path / "deploy"
    kept.mkdir()
    monkeypatch.setattr(constants, "DEFAULT_LOCAL_TMP", str(kept))

    def written(hosts: list[str], **options: Any) -> dict[str, Any]:
        given = {"state": "rendered", "directory": str(folder), "hosts": hosts, "hub": "hub", "federation": "flower", "namespace": "flower", **options}
        action: Any = object.__new__(plan.ActionModule)
        action._task = SimpleNamespace(check_mode=False, diff=False)
        found: dict[str, Any] = action.execute(action._checked(action.ARGS, action.SPEC, given, ""), {})
        return found

    written.folder = folder
    return written


def test_the_file_of_the_hub_needs_all_sites_behind_it(run: Any) -> None:
    check_notes.add_objects("hub", [item("StatefulSet")])
    check_notes.add_objects("hub", [item("AddOnTemplate", "one")], "site-a")
    check_notes.add_objects("site-c", [item("StatefulSet")])
    assert check_notes.sites_of("hub") == {"site-a"} and check_notes.sites_of("site-c") == set()
    with pytest.raises(AnsibleActionFail, match="^hub: .* nothing was rendered for site-b: the file would lose that"):
        run(["hub", "site-a", "site-c"], ocm_sites=["site-a", "site-b"])
    assert not run.folder.exists()
    assert not run(["hub", "site-a", "site-c"], ocm_sites=["site-a"])["warnings"]
    assert {path.parent.name for path in run.folder.glob("*/*")} == {"hub", "site-c"}
    found = list(yaml.safe_load_all((run.folder / "hub" / "flower.yaml").read_text()))
    assert [one["metadata"]["name"] for one in found] == ["one", "a"]


def test_without_the_hub_it_says_where_a_site_behind_it_has_its_objects(run: Any) -> None:
    check_notes.add_objects("hub", [item("AddOnTemplate", "one")], "site-a")
    check_notes.add_objects("site-c", [item("StatefulSet")])
    result = run(["site-a", "site-c"], ocm_sites=["site-a", "site-b"])
    (warning,) = result["warnings"]
    assert warning.startswith("site-a: what Open Cluster Management delivers there is in the file of hub, which --limit excludes")
    assert {path.parent.name for path in run.folder.glob("*/*")} == {"site-c"}
    assert not run(["site-c"], ocm_sites=["site-a", "site-b"])["warnings"]


def test_the_guide_has_flux_apply_the_file_of_a_host(run: Any) -> None:
    """A scenario has Flux itself do it (test_29_gitops)."""
    source, sync = flux.shown()
    assert (source["kind"], source["spec"]["ref"]["branch"]) == (sync["spec"]["sourceRef"]["kind"], "main") == ("GitRepository", "main")
    assert source["metadata"] == {"name": sync["spec"]["sourceRef"]["name"], "namespace": sync["metadata"]["namespace"]}
    check_notes.add_objects("site-a", [item("StatefulSet")])
    run(["site-a"])
    assert sync["spec"]["path"] == f"./{run.folder.name}/site-a" and (run.folder / "site-a" / "flower.yaml").exists()
    assert not {"targetNamespace", "namePrefix", "commonMetadata", "postBuild", "images", "patches"} & set(sync["spec"])


def test_a_file_of_a_site_that_is_delivered_to_in_another_way_is_not_forgotten(run: Any) -> None:
    """Its controller would keep the former SuperNodes beside those that Open Cluster Management or a bundle delivers."""
    check_notes.add_objects("hub", [item("StatefulSet")])
    check_notes.add_objects("hub", [item("AddOnTemplate", "one")], "site-a")
    assert not run(["hub", "site-a", "site-b"], ocm_sites=["site-a"])["warnings"]
    for site in ("site-a", "site-b"):
        (run.folder / site).mkdir()
        (run.folder / site / "flower.yaml").write_text("# Written by federated.flower.render\n")
    warnings = run(["hub", "site-a", "site-b"], ocm_sites=["site-a"])["warnings"]
    assert [one.partition(":")[0] for one in warnings] == ["site-a", "site-b"]
    assert f"{run.folder}/site-a/flower.yaml is still there" in warnings[0]


def test_a_value_that_looks_like_a_secret_is_told(run: Any) -> None:
    """Of a vault, for example. The header of the file says that it has no secrets."""
    env = {"name": "HF_TOKEN", "value": "s3cr3t"}
    pods = {**item("StatefulSet"), "spec": {"template": {"spec": {"containers": [{"name": "supernode", "env": [env]}]}}}}
    check_notes.add_objects("site-a", [pods])
    (warning,) = run(["site-a"])["warnings"]
    assert warning.startswith("site-a: StatefulSet a, container supernode: the value of HF_TOKEN looks like a secret, and everyone with access")
    assert "s3cr3t" not in warning


def test_nothing_is_written_if_one_file_is_another_federations(run: Any) -> None:
    check_notes.add_objects("hub", [item("StatefulSet")])
    check_notes.add_objects("site-a", [item("StatefulSet")])
    run(["site-a"], federation="lyon")
    before = (run.folder / "site-a" / "flower.yaml").read_bytes()
    with pytest.raises(AnsibleActionFail, match="^site-a: .*/site-a/flower.yaml has the objects of the federation lyon .* with those of boston "):
        run(["hub", "site-a"], federation="boston")
    assert (run.folder / "site-a" / "flower.yaml").read_bytes() == before and not (run.folder / "hub").exists()
    assert run(["hub", "site-a"], federation="lyon")["changed"] is True
    assert run(["hub", "site-a"], federation="lyon")["changed"] is False


@pytest.mark.parametrize("kind", addon_objects.VERSIONED)
def test_a_version_that_leaves_the_repository_stays_until_no_site_has_it(kind: str) -> None:
    bare = item(kind)
    lasting = app_versions.kept_by_gitops(bare)
    notes = lasting["metadata"]["annotations"]
    assert notes["argocd.argoproj.io/sync-options"] == "Prune=false"
    assert notes["kustomize.toolkit.fluxcd.io/prune"] == "disabled"
    assert bare == item(kind) and app_versions.kept_by_gitops(item("Service")) == item("Service")
    for manager, operation in (("kustomize-controller", "Apply"), ("argocd-controller", "Apply"), ("argocd-application-controller", "Update")):
        fields = [{"manager": manager, "operation": operation}]
        assert field_conflicts.recreated_by({**bare, "metadata": {**bare["metadata"], "managedFields": fields}})
        live = {**lasting, "metadata": {**lasting["metadata"], "managedFields": fields}}
        assert field_conflicts.recreated_by(live) == "", "then the playbooks delete it"


@each_row(("tags", "skipped", "accepted"), [(["all"], [], True), (["supernode"], [], False), (["all"], ["ocm"], False)])
def test_files_are_whole(tags: list[str], skipped: list[str], accepted: bool) -> None:
    (check,) = [task["ansible.builtin.assert"] for task in yaml_file("playbooks", "render.yml")[0]["tasks"] if "ansible.builtin.assert" in task]
    known = {"ansible_check_mode": True, "flower_render_directory": "deploy", "ansible_run_tags": tags, "ansible_skip_tags": skipped}
    templar = Templar(loader=DataLoader(), variables=known)
    assert all(templar.evaluate_conditional(trust_as_template(one)) for one in check["that"]) is accepted
    assert accepted or "Run it without --tags" in templar.template(trust_as_template(check["fail_msg"]))
