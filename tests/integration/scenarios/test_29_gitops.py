# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What render.yml writes is applied by Flux's own controllers from a Git server (fleet addon flux), beside site.yml."""

from __future__ import annotations

import pytest
import yaml

from ansible_collections.federated.flower.plugins.plugin_utils.apply.field_conflicts import TAKE_FROM
from ansible_collections.federated.flower.tests.integration.scenarios.flux import FLUX, Flux, release

STAYS = {"Secret", "ConfigMap", "Namespace", "PersistentVolumeClaim"}
BY_FLUX = ("hub", "site-a")  # nothing applies the file of site-b
POOL = ("apps/v1", "StatefulSet", "supernode-cpu")


@pytest.fixture
def flux(fed, fleet_addon, tmp_path):
    """Flux, and the checkout of its repository. At the end it is gone, and has never owned anything."""
    fleet_addon("flux", "up")
    repository = Flux(fed.hub, fed.kubeconfig, tmp_path)
    yield repository
    fleet_addon("flux", "down")
    for host in BY_FLUX:
        release(fed.cluster(host), repository.rendered.get(host, {}).values())


@pytest.fixture
def render(fed, flux):
    """A function that renders into the checkout; host -> objects."""

    def run(hosts=None):
        folder = flux.checkout / "deploy"
        fed.play("render", "--check", "-e", f"flower_render_directory={folder}", hosts=hosts)
        found = {path.parent.name: list(yaml.safe_load_all(path.read_text())) for path in folder.glob("*/*")}
        for host, objects in found.items():
            flux.rendered.setdefault(host, {}).update({(item["kind"], item["metadata"]["name"]): item for item in objects})
        return found

    return run


def live(fed, host, objects):
    """The objects as they are in the cluster of a host."""
    found = [fed.cluster(host).get(item["apiVersion"], item["kind"], item["metadata"]["name"], item["metadata"].get("namespace")) for item in objects]
    return {f"{item['kind']}/{item['metadata']['name']}": item["metadata"] for item in found if item}


def test_files_are_for_a_deployed_federation_and_change_nothing(fed, tmp_path):
    folder = tmp_path / "deploy"
    run = fed.play("render", "-e", f"flower_render_directory={folder}", rc=2)
    assert "Run it with --check" in run.messages(failed=True)
    fed.settled = True  # it ended before anything was looked at
    run = fed.play("render", "--check", rc=2)
    assert "Set flower_render_directory" in run.messages(failed=True)
    assert not folder.exists()


def test_flux_and_site_get_along(fed, flux, render):
    lives = fed.lives("site-a"), fed.lives("site-b"), fed.lives("hub", name="superlink")
    first, second = sorted(fed.pods("site-a"))  # their numbers depend on the partitions of tests before
    found = render()
    assert set(found) == {"hub", "site-a", "site-b"}
    kinds = {host: {item["kind"] for item in objects} for host, objects in found.items()}
    assert not STAYS & set().union(*kinds.values())
    assert {"StatefulSet", "Service", "NetworkPolicy", "ServiceAccount"} <= kinds["hub"] and "StatefulSet" in kinds["site-b"]
    fed._collect()
    assert not fed.shown(flux.checkout), "a secret was rendered"

    # What it writes is what is there: Flux changes nothing but its own labels, no pod restarts, and both have it then.
    before = {host: live(fed, host, found[host]) for host in BY_FLUX}
    revision = flux.push("Federation as deployed")
    flux.set_up(*BY_FLUX)
    flux.applied(fed, revision, *BY_FLUX)
    for host in BY_FLUX:
        for name, meta in live(fed, host, found[host]).items():
            assert (FLUX, "Apply") in {(entry["manager"], entry["operation"]) for entry in meta["managedFields"]}, f"{name} on {host}"
            assert meta.get("generation") == before[host][name].get("generation"), f"{name} on {host} was changed"
    fed.unchanged()
    assert (fed.lives("site-a"), fed.lives("site-b"), fed.lives("hub", name="superlink")) == lives

    # Another value in the inventory alone is refused for this site, and by name.
    hosts = fed.base()
    hosts["site-a"]["supernode_annotations"] = {"scenario/gitops": "1e3"}  # for Go's readers of YAML it is a number
    hosts["site-a"]["supernode_pools"][0]["replicas"] = 1
    for flags in ((), ("--check",)):  # the folder in the inventory makes no difference to site.yml
        run = fed.play("site", *flags, hosts=hosts, rc=2, flower_render_directory=str(flux.checkout / "deploy"))
        words = run.messages("site-a", failed=True)
        assert f"StatefulSet {fed.namespace}/supernode-cpu: field manager {FLUX} owns .spec.replicas with another value" in words, words
    assert {host: numbers["failed"] for host, numbers in run.recap.items()} == {"hub": 0, "site-a": 1, "site-b": 0}

    # Rendered and pushed, Flux applies it there, and site.yml agrees.
    render(hosts)
    assert flux.git("status", "--porcelain") == "M deploy/site-a/flower.yaml"
    flux.applied(fed, flux.push("One SuperNode at site-a"), *BY_FLUX)
    fed.wait("the end of the second pod", lambda: set(fed.pods("site-a")) == {first})
    fed.site(hosts)
    fed.unchanged(hosts)
    assert fed.play("status", "-e", "flower_status_format=json", hosts=hosts).report["healthy"]

    # While Flux is suspended, site.yml changes it once its owner has said so, and Flux agrees when it goes on.
    hosts["site-a"]["supernode_pools"][0]["replicas"] = 2
    flux.suspend("site-a")
    render(hosts)
    revision = flux.push("Two again")
    flux.applied(fed, revision, "hub")
    assert f"field manager {FLUX} owns .spec.replicas with another value" in fed.play("site", hosts=hosts, rc=2).messages("site-a", failed=True)
    fed.cluster("site-a").patch(*POOL, fed.namespace, {"metadata": {"annotations": {TAKE_FROM: FLUX}}})
    fed.site(hosts)
    assert set(fed.pods("site-a")) == {first, second}
    assert flux.kustomization("site-a")["status"]["lastAppliedRevision"] != revision
    fed.cluster("site-a").patch(*POOL, fed.namespace, {"metadata": {"annotations": {TAKE_FROM: None}}})
    flux.suspend("site-a", False)
    flux.applied(fed, revision, *BY_FLUX)
    fed.unchanged(hosts)

    # A pool that leaves the inventory is not deleted while Flux would bring it back. Flux deletes it, and nothing that it did not apply.
    hosts["site-a"]["supernode_pools"] = [{**hosts["site-a"]["supernode_pools"][0], "name": "other", "replicas": 0}]
    run = fed.play("site", hosts=hosts, rc=2)
    assert f"supernode-cpu: {FLUX} would create it again" in run.messages("site-a", failed=True)
    assert set(fed.pods("site-a")) == {first, second}
    foreign = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "foreign", "namespace": fed.namespace}, "spec": {"ports": [{"port": 80}]}}
    fed.cluster("site-a").request("POST", f"/api/v1/namespaces/{fed.namespace}/services", body=foreign)
    render(hosts)
    flux.applied(fed, flux.push("Another pool"), *BY_FLUX)
    assert fed.cluster("site-a").get(*POOL, fed.namespace) is None
    assert fed.cluster("site-a").get("v1", "Service", "foreign", fed.namespace) and fed.held("site-a", "cpu")
    fed.wait("the pods of the pool are gone", lambda: not fed.pods("site-a"))
    fed.site(hosts)
    fed.unchanged(hosts)
    fed.cluster("site-a").delete("v1", "Service", "foreign", fed.namespace)


def test_files_of_others_stay(fed, tmp_path):
    path = tmp_path / "site-a" / "flower.yaml"
    path.parent.mkdir()
    path.write_text("mine: true\n")
    run = fed.play("render", "--check", "-e", f"flower_render_directory={tmp_path}", rc=2)
    assert "was not written by federated.flower.render" in run.messages(failed=True)
    assert path.read_text() == "mine: true\n"
    path.write_text("# Written by federated.flower.render for site-a of the federation other, namespace other.\n")
    run = fed.play("render", "--check", "-e", f"flower_render_directory={tmp_path}", rc=2)
    assert "has the objects of the federation other in namespace other" in run.messages(failed=True)
    assert not (tmp_path / "hub").exists()
