# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""Proves the local fleet: what it gives to tests, and that it leaves nothing behind.

``pytest tests/fleet -m fleet`` starts the fleet if needed and leaves it running.
``pytest tests/fleet -m fleet_lifecycle`` stops it, and kills starts half-way.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from flower_fleet import settings
from flower_fleet.clusters import lifecycle
from flower_fleet.clusters.api import ApiError
from flower_fleet.images import flower, haproxy, socat
from flower_fleet.shell import mount_points
from support import HERE, SETTINGS, api, fleet, needs_the_local_fleet, plan, until

BUSYBOX = settings.BUSYBOX_IMAGE

pytestmark = needs_the_local_fleet


def pod(space: str, script: str, *, name: str = "probe", image: str = BUSYBOX, **container: Any) -> dict[str, Any]:
    """A pod that runs a shell script once."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": space, "labels": {"app": name}},
        "spec": {
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "c", "image": image, "command": ["sh", "-c", script], **container}],
        },
    }


def output(cluster: str, item: dict[str, Any]) -> tuple[str, str]:
    """Run a pod to its end; returns (phase, log)."""
    client = api(cluster)
    client.apply(item)
    path = f"/api/v1/namespaces/{item['metadata']['namespace']}/pods/{item['metadata']['name']}"

    def ended() -> str | None:
        phase = client.get(path)["status"].get("phase")
        return phase if phase in ("Succeeded", "Failed") else None

    return until(ended, what=f"end of {path}"), client.request("GET", f"{path}/log")


@pytest.mark.fleet
def test_nodes_are_ready_and_have_their_region(running: list[str]) -> None:
    assert running[:3] == ["hub", "site-a", "site-b"]
    for name in running:
        node = api(name).request("GET", f"/api/v1/nodes/{name}")
        assert {"type": "Ready", "status": "True"}.items() <= next(
            entry for entry in node["status"]["conditions"] if entry["type"] == "Ready"
        ).items()
        assert node["metadata"]["labels"]["topology.kubernetes.io/region"] == plan(name).region
    assert (plan("site-a").region, plan("site-b").region, plan("site-c").region) == ("eu", "us", "eu")


@pytest.mark.fleet
def test_kubeconfig_has_all_contexts(running: list[str]) -> None:
    path = fleet("kubeconfig").stdout.strip()
    config = json.loads(Path(path).read_text())
    assert [entry["name"] for entry in config["contexts"]] == running
    assert Path(path).stat().st_mode & 0o077 == 0
    status = json.loads(fleet("status", "--json").stdout)
    assert {row["state"] for row in status["clusters"]} == {"ready"}


@pytest.mark.fleet
def test_names_resolve_in_pods_and_on_nodes(running: list[str], space: str) -> None:
    script = (
        "nslookup hub.fleet.test | grep -A1 hub.fleet && nslookup site-z.fleet.test >/dev/null"
        " && nslookup kubernetes.default.svc.cluster.local >/dev/null && ! nslookup no-such.invalid >/dev/null 2>&1"
    )
    for cluster in ("hub", "site-a"):
        phase, log = output(cluster, pod(space, script))
        assert phase == "Succeeded", log
        assert plan("hub").address in log
    assert plan("site-a").address in fleet("exec", "hub", "--", "getent", "hosts", "site-a.fleet.test").stdout


@pytest.mark.fleet
def test_volume_binds_for_a_user_that_is_not_root(running: list[str], space: str) -> None:
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data", "namespace": space},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Mi"}}},
    }
    api("site-a").apply(claim)
    item = pod(
        space,
        "id -u > /data/who && cat /data/who",
        volumeMounts=[{"name": "data", "mountPath": "/data"}],
        securityContext={"runAsUser": flower.UID, "runAsNonRoot": True},
    )
    item["spec"]["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
    assert output("site-a", item) == ("Succeeded", f"{flower.UID}\n")
    bound = api("site-a").request("GET", f"/api/v1/namespaces/{space}/persistentvolumeclaims/data")
    assert bound["status"]["phase"] == "Bound"


@pytest.mark.fleet
def test_load_balancer_gets_an_address_that_the_fleet_reaches(running: list[str], space: str) -> None:
    client = api("hub")
    client.apply(
        pod(
            space, "mkdir /tmp/www && echo hello > /tmp/www/index.html && exec httpd -f -p 8080 -h /tmp/www", name="web"
        )
    )
    client.apply(
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "web", "namespace": space},
            "spec": {"type": "LoadBalancer", "selector": {"app": "web"}, "ports": [{"port": 80, "targetPort": 8080}]},
        }
    )
    path = f"/api/v1/namespaces/{space}/services/web"
    address = until(lambda: (client.get(path)["status"]["loadBalancer"].get("ingress") or [{}])[0].get("ip"))
    assert address in plan("hub").load_balancer_ips
    assert until(lambda: urllib.request.urlopen(f"http://{address}/", timeout=2).read()) == b"hello\n"
    assert output("site-b", pod(space, f"wget -qO- http://{address}/")) == ("Succeeded", "hello\n")
    client.request("DELETE", path)
    until(
        lambda: address not in fleet("exec", "hub", "--", "ip", "addr", "show", "eth0").stdout,
        what="address taken back",
    )


@pytest.mark.fleet
def test_site_b_alone_has_gpus(running: list[str], space: str) -> None:
    for name in running:
        capacity = api(name).request("GET", f"/api/v1/nodes/{name}")["status"]["allocatable"]
        assert capacity.get("nvidia.com/gpu") == ("4" if name == "site-b" else None)
    item = pod(space, "echo ran", resources={"limits": {"nvidia.com/gpu": "1"}})
    assert output("site-b", item) == ("Succeeded", "ran\n")
    api("site-a").apply(item)

    def refused() -> bool:
        status = api("site-a").get(f"/api/v1/namespaces/{space}/pods/probe")["status"]
        return any("Insufficient nvidia.com/gpu" in entry.get("message", "") for entry in status.get("conditions", []))

    until(refused)


@pytest.mark.fleet
@pytest.mark.parametrize(
    "image, command",
    [
        *((name, f"flower-{program} --version") for program, name in zip(flower.PROGRAMS, flower.IMAGES)),
        (socat.IMAGE, "socat -V && echo x | sha256sum && printf x && ls -l /bin/cat /bin/mv /bin/rm /bin/sleep"),
        (haproxy.IMAGE, "haproxy -v && echo x | sha256sum && cat /etc/passwd && sleep 0 && kill -l >/dev/null"),
    ],
)
def test_default_images_run_in_a_restricted_pod(running: list[str], space: str, image: str, command: str) -> None:
    item = pod(
        space,
        command,
        image=image,
        securityContext={
            "runAsNonRoot": True,
            "runAsUser": 49999,  # as the pods of a SuperNode: the image of socat names no user
            "readOnlyRootFilesystem": True,
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "seccompProfile": {"type": "RuntimeDefault"},
        },
    )
    phase, log = output("site-a", item)
    assert phase == "Succeeded", log
    assert any(word in log for word in (flower.VERSION, "HAProxy version", "socat version"))


@pytest.mark.fleet
def test_pod_security_is_enforced(running: list[str], space: str) -> None:
    client = api("hub")
    client.patch(
        f"/api/v1/namespaces/{space}", {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}}
    )
    with pytest.raises(ApiError) as refused:
        client.apply(pod(space, "true"))
    assert refused.value.status == 403


@pytest.mark.fleet
def test_cut_and_mend(running: list[str]) -> None:
    fleet("cut", "site-b")
    try:
        with pytest.raises(OSError):
            api("site-b", timeout=1).request("GET", "/readyz")
        assert api("site-a").request("GET", "/readyz") == "ok"
        status = json.loads(fleet("status", "--json", check=False).stdout)
        assert {row["name"]: row["state"] for row in status["clusters"]}["site-b"] == "cut off"
    finally:
        fleet("mend", "site-b")
    until(lambda: api("site-b", timeout=2).request("GET", "/readyz") == "ok")


@pytest.mark.fleet
def test_second_up_does_nothing(running: list[str]) -> None:
    before = {name: lifecycle.node_pid(SETTINGS.state, name) for name in running}
    assert "nothing to do" in fleet("up").stdout
    assert {name: lifecycle.node_pid(SETTINGS.state, name) for name in running} == before


@pytest.mark.fleet
def test_a_killed_process_comes_back(running: list[str]) -> None:
    fleet("exec", "site-a", "--", "sh", "-c", "kill -9 $(pidof kube-apiserver)")
    until(lambda: api("site-a").request("GET", "/readyz") == "ok")


def idle_cgroups() -> list[str]:
    """Control groups without a process and without groups below."""
    found = []
    for folder, below, _files in os.walk("/sys/fs/cgroup"):
        with contextlib.suppress(OSError):
            if not below and not Path(folder, "cgroup.procs").read_text():
                found.append(folder)
    return sorted(found)


def machine() -> dict[str, Any]:
    """What the fleet could leave on the machine."""

    def said(*words: str) -> list[str]:
        return sorted(subprocess.run(words, check=False, text=True, capture_output=True).stdout.splitlines())

    processes = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            line = " ".join(lifecycle.process_words(int(entry.name)))
            if (
                str(SETTINGS.cache) in line
                or str(HERE / "flower_fleet") in line
                or "flower_fleet.clusters" in line
                or "/skupper_standin run" in line
            ):
                processes.append(line)
    rules = said("iptables-save") + said("ip6tables-save")
    return {
        "processes": processes,
        "namespaces": said("ip", "netns", "list"),
        "links": [line.split(": ")[1] for line in said("ip", "-o", "link")],
        "addresses": said("ip", "-o", "-4", "addr"),
        "routes": said("ip", "route"),
        "mounts": sorted(line.split(" ", 3)[3] for line in Path("/proc/self/mountinfo").read_text().splitlines()),
        "nftables": said("nft", "list", "ruleset"),
        "iptables": [line for line in rules if not line.startswith("#")],
        "control groups": idle_cgroups(),
        "kernel values": {
            name: Path("/proc/sys", name).read_text()
            for name in (
                "vm/overcommit_memory",
                "vm/panic_on_oom",
                "kernel/panic",
                "kernel/panic_on_oops",
                "net/ipv4/ip_forward",
            )
        },
        "files": [
            str(path)
            for path in (
                *lifecycle.MOUNT_POINTS,
                Path("/etc/cni"),
                Path("/run/netns"),
                settings.RUN_LINK,
                SETTINGS.state,
            )
            if os.path.lexists(path)
        ],
        "half made": [str(path) for path in SETTINGS.cache.glob("**/*.partial*")],
    }


@pytest.fixture(scope="module")
def clean() -> dict[str, Any]:
    """The machine without a fleet."""
    fleet("down")
    return machine()


@pytest.mark.fleet_lifecycle
def test_down_leaves_nothing(clean: dict[str, Any]) -> None:
    fleet("up")
    fleet("addon", "skupper", "up")
    assert any("skupper_standin" in line for line in machine()["processes"])
    fleet("down")
    assert machine() == clean
    assert "nothing was there" in fleet("down").stdout


@pytest.mark.fleet_lifecycle
@pytest.mark.parametrize(
    "seconds", [pytest.param(0.5, marks=pytest.mark.soak), pytest.param(2.0, marks=pytest.mark.soak), 7.0]
)
def test_up_survives_a_killed_up_and_down_cleans_up(clean: dict[str, Any], seconds: float) -> None:
    for heal in (True, False):
        process = subprocess.Popen(
            [sys.executable, str(HERE), "up"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        time.sleep(seconds)
        process.send_signal(signal.SIGKILL)
        process.wait()
        if heal:
            fleet("up")
            assert json.loads(fleet("status", "--json").stdout)["clusters"]
        fleet("down")
        assert machine() == clean


@pytest.mark.fleet_lifecycle
def test_the_mount_of_an_earlier_namespace_is_no_hindrance(clean: dict[str, Any]) -> None:
    # The first `ip netns add` of a machine leaves its folder mounted upon itself, when the namespace is long gone.
    for verb in ("add", "del"):
        subprocess.run(["ip", "netns", verb, "flower-test-earlier"], check=True)
    assert "/run/netns" in mount_points()
    fleet("down")
    assert machine() == clean


@pytest.mark.fleet_lifecycle
def test_killed_builds_leave_no_process(clean: dict[str, Any]) -> None:
    seeds = list((SETTINGS.cache / "seed").glob("*"))
    for seed in seeds:
        seed.rename(seed.with_name(f"{seed.name}.aside"))
    try:
        process = subprocess.Popen(
            [sys.executable, str(HERE), "up"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        until(
            lambda: list((SETTINGS.cache / "seed").glob("*.partial/containerd.sock")), what="import into the seed store"
        )
        process.send_signal(signal.SIGKILL)
        process.wait()
        until(lambda: not machine()["processes"], 5)
    finally:
        for seed in seeds:
            seed.with_name(f"{seed.name}.aside").rename(seed)
    fleet("up")
    fleet("down")
    assert machine() == clean


@pytest.mark.fleet_lifecycle
def test_a_crashed_cluster_is_made_anew_and_growth_disturbs_nobody(clean: dict[str, Any]) -> None:
    fleet("up", "--sites", "1")
    hub = lifecycle.node_pid(SETTINGS.state, "hub")
    fleet("crash", "site-a")
    assert fleet("status", check=False).returncode == 1
    fleet("up", "--sites", "2")
    fleet("add-site")
    assert lifecycle.node_pid(SETTINGS.state, "hub") == hub
    rows = json.loads(fleet("status", "--json").stdout)["clusters"]
    assert {row["name"]: row["state"] for row in rows} == dict.fromkeys(["hub", "site-a", "site-b", "site-c"], "ready")
    for launcher in lifecycle.launchers(SETTINGS.state):
        os.kill(launcher, signal.SIGKILL)
    fleet("down")
    assert machine() == clean


@pytest.mark.fleet_lifecycle
def test_open_cluster_management_follows_clusters_that_change(clean: dict[str, Any]) -> None:
    def joined() -> list[str]:
        fleet("addon", "ocm", "up")
        items = api("hub").request("GET", "/apis/cluster.open-cluster-management.io/v1/managedclusters")["items"]
        return [
            item["metadata"]["name"]
            for item in items
            if ("ManagedClusterConditionAvailable", "True")
            in [(one["type"], one["status"]) for one in item["status"]["conditions"]]
        ]

    told = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "told", "namespace": "default"}}

    def send(site: str) -> None:
        work = {
            "apiVersion": "work.open-cluster-management.io/v1",
            "kind": "ManifestWork",
            "metadata": {"name": "told"},
            "spec": {"workload": {"manifests": [told]}},
        }
        path = f"/apis/{work['apiVersion']}/namespaces/{site}/manifestworks/told"
        api("hub").apply_text(path, json.dumps(work))

    def arrived(site: str) -> Any:
        return until(lambda: api(site).get("/api/v1/namespaces/default/configmaps/told"))

    fleet("up", "--sites", "1")
    assert joined() == ["site-a"]
    send("site-a")
    assert arrived("site-a")
    fleet("crash", "site-a")
    fleet("up", "--sites", "1")
    assert joined() == ["site-a"]
    assert arrived("site-a")
    fleet("add-site")
    assert joined() == ["site-a", "site-b"]
    fleet("crash", "hub")
    fleet("up", "--sites", "2")
    assert joined() == ["site-a", "site-b"]
    send("site-b")
    assert arrived("site-b")
    assert any("/ocm-" in line for line in machine()["processes"])
    fleet("down")
    assert machine() == clean


@pytest.mark.fleet_lifecycle
def test_refusals(clean: dict[str, Any], tmp_path: Path) -> None:
    def refused(words: list[str], **environ: str) -> str:
        result = subprocess.run(
            [sys.executable, str(HERE), *words],
            env={**os.environ, **environ},
            text=True,
            capture_output=True,
            check=False,
        )
        assert result.returncode == 1, result.stdout
        return result.stderr

    assert "already routes" in refused(["up"], FLEET_SUBNET=_own_subnet())
    assert "must be a /24" in refused(["up"], FLEET_SUBNET="10.97.0.0/16")
    assert "FLEET_SITES" in refused(["up"], FLEET_SITES="many")
    assert "no such cluster" in refused(["cut", "moon"])
    assert "does not run" in refused(["cut", "site-a"])
    config = tmp_path / "config"
    config.write_text("contexts:\n- name: hub\n  context: {}\n")
    assert "no context site-a, site-b" in refused(["up"], FLOWER_FLEET_KUBECONFIG=str(config))
    assert machine() == clean


def _own_subnet() -> str:
    """A /24 that the machine has a route into."""
    routes = json.loads(subprocess.run(["ip", "-j", "-4", "route"], check=True, text=True, capture_output=True).stdout)
    route = next((entry for entry in routes if "/" in entry["dst"]), None)
    if route is None:
        pytest.skip("this machine has no route but the default one")
    return f"{route['dst'].rsplit('.', 1)[0]}.0/24"
