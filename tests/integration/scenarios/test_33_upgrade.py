# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: Apache-2.0
"""A fleet goes from one release of Flower to the next: the hub, then the sites in waves. What fails goes back, and what is killed is completed."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyrage
import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.fleet import upgrade_record
from ansible_collections.federated.flower.plugins.plugin_utils.kube.pod_health import images_of_pod
from ansible_collections.federated.flower.tests.integration.scenarios.conftest import APP, NAMESPACE

OLD, NEW = "1.41.0", "1.42.0"
SITES = ("site-a", "site-b")
WAIVED = ("-e", "flower_upgrade_backup=false")
MISSING = "docker.io/flwr/supernode:none"


def images(fed: Any, context: str, name: str = "supernode") -> set[str]:
    """Images of Flower that the pods of a cluster have."""
    found = (image for pod in fed.pods(context, name=name).values() for image in images_of_pod(pod).values())
    return {image for image in found if "/flwr/" in f"/{image}"}


def is_at(fed: Any, context: str, version: str, name: str = "supernode") -> bool:
    return {image.rpartition(":")[2] for image in images(fed, context, name)} == {version}


def progress(fed: Any) -> dict[str, Any]:
    """What an upgrade that is not complete keeps."""
    item = fed.hub.get("v1", "ConfigMap", upgrade_record.NAME, NAMESPACE)
    return json.loads(item["data"]["upgrade.json"]) if item else {}


def backup(folder: Path) -> str:
    """Variables of a backup."""
    return json.dumps({"flower_backup_directory": str(folder), "flower_backup_recipients": [str(pyrage.x25519.Identity.generate().to_public())]})


def pullers(fed: Any, site: str) -> list[dict[str, Any]]:
    """Jobs that pull images, and that nobody is deleting."""
    jobs = fed.cluster(site).list("batch/v1", "Job", NAMESPACE, labels="app.kubernetes.io/name=supernode-pull")
    return [job for job in jobs if not job["metadata"].get("deletionTimestamp")]


@pytest.fixture(scope="module")
def former(federation: Any, fleet_command: Callable[..., None]) -> Any:
    """The federation as an earlier release of Flower."""
    fleet_command("image", f"flower-{OLD}")
    federation.clear()
    federation.site(flower_version=OLD)
    federation.settled = False
    assert is_at(federation, "hub", OLD, "superlink") and all(is_at(federation, site, OLD) for site in SITES)
    return federation


def test_a_site_whose_image_is_missing_stops_the_upgrade(former: Any, tmp_path: Path) -> None:
    """The hub is new then, and both sites are untouched. Without pulling first, the first site is rolled back. Both releases work with the hub."""
    fed = former
    ids = {site: fed.keys(site) for site in SITES}
    before = {site: fed.lives(site) for site in SITES}
    told = fed.play("upgrade", "-e", "flower_upgrade_waves=site-x", rc=2).messages("hub", failed=True)
    assert "flower_backup_directory and flower_backup_recipients" in told and "Nothing was changed" in told, told
    assert "'site-x' is neither a site nor a group" in told and not progress(fed), told

    hosts = fed.base()
    for site in SITES:
        hosts[site]["supernode_image"] = MISSING
    run = fed.play("upgrade", "-e", backup(tmp_path), hosts=hosts, rc=2)
    told = run.messages("hub", failed=True)
    (archive,) = tmp_path.glob("*.tar")
    assert progress(fed)["backup"] == str(archive)
    assert "wave 1 of 2 does not start: site-a: the new images cannot be pulled" in told and "node " in told, told
    assert f"the image {MISSING} of container supernode cannot be pulled" in told and "Not touched: site-a, site-b" in told, told
    assert "the new images cannot be pulled" in run.messages("site-a", failed=True), run.details()
    assert is_at(fed, "hub", NEW, "superlink") and is_at(fed, "hub", NEW, "serverapp")
    assert {site: fed.lives(site) for site in SITES} == before
    assert {name: one["state"] for name, one in progress(fed)["sites"].items()} == {"site-a": "waiting", "site-b": "waiting"}
    assert not pullers(fed, "site-a")

    hosts["site-a"]["flower_upgrade_pull"] = False
    run = fed.play("upgrade", *WAIVED, hosts=hosts, rc=2)
    told = run.messages("hub", failed=True)
    assert f"the image {MISSING} of container supernode cannot be pulled" in told, told
    assert f"it runs {OLD} again" in told and "Not touched: site-b" in told and "wave 1 of 2 failed" in told, told
    assert f"it runs {OLD} again" in run.messages("site-a", failed=True), run.details()
    assert is_at(fed, "hub", NEW, "superlink") and is_at(fed, "hub", NEW, "serverapp")
    assert all(is_at(fed, site, OLD) for site in SITES) and fed.lives("site-b") == before["site-b"]
    assert {name: one["state"] for name, one in progress(fed)["sites"].items()} == {"site-a": "rolled back", "site-b": "waiting"}
    assert {site: fed.keys(site) for site in SITES} == ids


def test_the_next_run_waits_for_a_run_and_completes_it(former: Any) -> None:
    fed = former
    ids = {site: fed.keys(site) for site in SITES}
    assert progress(fed), "the test before did not leave an upgrade"
    shown = fed.play("upgrade", "--check", *WAIVED).messages()
    assert f"wave 2 of 2, site-b: {OLD} -> {NEW}" in shown and "is not complete" in shown, shown
    number, finish = fed.hold(**{"num-server-rounds": 1})
    known = fed.app_runs()
    told = fed.play("upgrade", *WAIVED, "-e", "flower_upgrade_wait=0", rc=2).messages("hub", failed=True)
    assert f"run {number} of federated-flower/quickstart" in told and "flower_upgrade_wait" in told, told
    assert all(is_at(fed, site, OLD) for site in SITES)

    accepted = {"flower_upgrade_app": str(APP), "flower_upgrade_app_config": {"num-server-rounds": 1}}
    playbook = fed.start("upgrade", *WAIVED, "-e", json.dumps(accepted))
    fed.wait_for_output(playbook, f"waiting for run {number}")
    assert not finish().rc
    upgrade = playbook()
    assert not upgrade.rc, upgrade.details()
    assert all(f"{site}: pulled docker.io/flwr/supernode:{NEW}" in upgrade.output for site in SITES)
    assert not any(pullers(fed, site) for site in SITES)
    runs = fed.app_runs()
    new = {run: status for run, status in runs.items() if run not in known}
    assert runs[number] == "finished:completed" and [*new.values()] == ["finished:completed"] * 2, "a run after each wave, the first with both releases"
    assert all(is_at(fed, site, NEW) for site in SITES) and not progress(fed)
    started = [{pod["metadata"]["creationTimestamp"] for pod in fed.pods(site).values()} for site in SITES]
    assert max(started[0]) < min(started[1]), f"the waves were not one after the other: {started}"
    assert {site: fed.keys(site) for site in SITES} == ids
    assert {fed.nodes()[node] for found in ids.values() for node in found.values()} == {"online"}
    again = fed.play("upgrade")
    assert set(again.changed.values()) == {0} and "nothing to upgrade" in again.messages(), again.changed
    fed.settled = True


def other_names(fed: Any, hub: bool) -> Any:
    """The same images under other names: an upgrade of images for every pod, on wish for that of the SuperLink."""
    hosts = fed.base()
    if hub:
        hosts["hub"]["superlink_image"] = f"flwr/superlink:{NEW}"
    for site in SITES:
        hosts[site] |= {"supernode_image": f"flwr/supernode:{NEW}", "supernode_superexec_image": f"flwr/superexec:{NEW}"}
    return hosts


def hub_begun(fed: Any) -> bool:
    return progress(fed).get("hub", {}).get("state") == upgrade_record.BEGUN


def hub_replaced(fed: Any) -> bool:
    return f"flwr/superlink:{NEW}" in images(fed, "hub", "superlink")


def last_begun(fed: Any) -> bool:
    """The first wave is done."""
    return progress(fed).get("sites", {}).get("site-b", {}).get("state") == upgrade_record.BEGUN


def site_begun(fed: Any) -> bool:
    return progress(fed).get("sites", {}).get("site-a", {}).get("state") == upgrade_record.BEGUN


def site_replaced(fed: Any) -> bool:
    return f"flwr/supernode:{NEW}" in images(fed, "site-a")


@pytest.mark.parametrize(
    "point",
    [
        site_replaced,
        *(pytest.param(one, marks=pytest.mark.soak) for one in (hub_begun, hub_replaced, site_begun, last_begun)),
    ],
)
def test_killed_on_its_way(federation: Any, point: Callable[[Any], bool]) -> None:
    """kill -9: the next run completes the upgrade, and takes what is done for done."""
    fed = federation
    fed.settle()
    at_hub = point in (hub_begun, hub_replaced)
    hosts = other_names(fed, at_hub)
    ids = {site: fed.keys(site) for site in SITES}
    finish = fed.start("upgrade", *WAIVED, hosts=hosts)
    fed.wait("the moment", lambda: point(fed) or not finish.running(), 120, pause=0.3)
    finish.kill()
    assert finish().rc == -9 and progress(fed), finish.log
    fed.settled = False
    done = fed.play("upgrade", *WAIVED, "-e", "flower_lease_wait=90", hosts=hosts)
    assert "is complete" in done.messages() and not progress(fed)
    assert hub_replaced(fed) is at_hub and all({f"flwr/supernode:{NEW}", f"flwr/superexec:{NEW}"} <= images(fed, site) for site in SITES)
    assert {site: fed.keys(site) for site in SITES} == ids
    assert {fed.nodes()[node] for found in ids.values() for node in found.values()} == {"online"}
    if at_hub:
        fed.unchanged(hosts)


@pytest.mark.soak
def test_killed_five_times_at_random(federation: Any, fleet_command: Callable[..., None], tmp_path: Path) -> None:
    """From the former release, whose database the hub migrates, begun during a run: each next run goes on, and the last one completes it."""
    fed = federation
    fleet_command("image", f"flower-{OLD}")
    fed.clear()
    fed.site(flower_version=OLD)
    fed.settled = False
    ids = {site: fed.keys(site) for site in SITES}
    number, finish = fed.begin(**{"num-server-rounds": 1, "sleep": 30.0})
    given = ("-e", backup(tmp_path), "-e", "flower_lease_wait=90")
    for seconds in random.sample(range(5, 120), 5):
        upgrade, end = fed.start("upgrade", *given), time.monotonic() + seconds
        fed.wait("the moment", lambda it=upgrade, until=end: time.monotonic() >= until or not it.running(), 300, pause=0.2)
        upgrade.kill()
        sites = {name: one["state"] for name, one in progress(fed).get("sites", {}).items()}
        print(f"killed after {seconds} s; hub {progress(fed).get('hub', {}).get('state')}, {sites}")
    done = fed.play("upgrade", *given)
    assert "is complete" in done.messages() or "nothing to upgrade" in done.messages(), done.messages()
    assert not finish().rc and fed.app_runs()[number] == "finished:completed"
    assert is_at(fed, "hub", NEW, "superlink") and all(is_at(fed, site, NEW) for site in SITES) and not progress(fed)
    assert {site: fed.keys(site) for site in SITES} == ids
    assert {fed.nodes()[node] for found in ids.values() for node in found.values()} == {"online"}
    fed.unchanged()


@pytest.mark.soak
def test_killed_while_images_are_pulled(federation: Any) -> None:
    """The next run deletes the Job that was left."""
    fed = federation
    fed.settle()
    hosts, before = other_names(fed, False), {site: fed.lives(site) for site in SITES}
    hosts["site-a"]["supernode_image"] = MISSING
    finish = fed.start("upgrade", *WAIVED, hosts=hosts)
    fed.wait("a job", lambda: pullers(fed, "site-a") or not finish.running(), 240, pause=0.3)
    finish.kill()
    assert finish().rc == -9, finish.log
    assert pullers(fed, "site-a") and {site: fed.lives(site) for site in SITES} == before
    fed.settled = False
    done = fed.play("upgrade", *WAIVED, "-e", "flower_lease_wait=90", hosts=other_names(fed, False))
    assert "is complete" in done.messages() and not progress(fed) and not pullers(fed, "site-a")


@pytest.mark.soak
def test_a_site_that_is_down_is_left_out(federation: Any, dead: str) -> None:
    fed = federation
    fed.settle()
    hosts = other_names(fed, False)
    hosts["site-b"]["flower_kubeconfig"] = dead
    before = {site: fed.lives(site) for site in SITES}
    told = fed.play("upgrade", *WAIVED, hosts=hosts, rc=2).messages("hub", failed=True)
    assert "1 of 2 sites cannot be upgraded: site-b: " in told and "flower_upgrade_max_failed=1" in told, told
    assert {site: fed.lives(site) for site in SITES} == before
    run = fed.play("upgrade", *WAIVED, "-e", "flower_upgrade_max_failed=1", hosts=hosts, rc=2)
    assert {host: numbers["failed"] for host, numbers in run.recap.items()} == {"hub": 0, "site-a": 0, "site-b": 1}
    assert "site-b does not" in run.messages() and site_replaced(fed) and fed.lives("site-b") == before["site-b"]
    assert progress(fed), "the upgrade is not complete"
    done = fed.play("upgrade", *WAIVED, hosts=other_names(fed, False))
    assert "is complete" in done.messages() and not progress(fed)


@pytest.mark.soak
def test_a_site_that_is_not_accepted_goes_back(federation: Any) -> None:
    """The GPU of site-b is only advertised, so its apps would find none."""
    fed = federation
    fed.settle()
    told = fed.play("upgrade", *WAIVED, "-e", "flower_upgrade_verify=true", hosts=other_names(fed, False), rc=2).messages("hub", failed=True)
    assert "site-b: it is not accepted: gpu: GPU: " in told and f"it runs {NEW} again" in told, told
    assert site_replaced(fed) and f"flwr/supernode:{NEW}" not in images(fed, "site-b")
    assert not fed.play("upgrade", *WAIVED).rc and not progress(fed)


@pytest.mark.soak
def test_a_hub_whose_image_is_missing_goes_back(federation: Any) -> None:
    fed = federation
    fed.settle()
    before = {site: fed.lives(site) for site in SITES}
    hosts = fed.base()
    hosts["hub"]["superlink_image"] = "docker.io/flwr/superlink:none"
    told = fed.play("upgrade", *WAIVED, hosts=hosts, rc=2).messages("hub", failed=True)
    assert "the image docker.io/flwr/superlink:none of container" in told and "cannot be pulled" in told, told
    assert f"it runs {NEW} again" in told and "No site was upgraded" in told, told
    assert is_at(fed, "hub", NEW, "superlink") and {site: fed.lives(site) for site in SITES} == before
    assert not fed.play("upgrade", *WAIVED).rc and not progress(fed)
    fed.unchanged()
    fed.settled = True
