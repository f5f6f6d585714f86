# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""The fleet's pure parts; needs neither root nor a fleet."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from ipaddress import IPv4Address, IPv4Network
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from flower_fleet import binaries, cli, external, host, prepare, settings, shell
from flower_fleet.addons import dns, storage
from flower_fleet.addons.ocm import gates
from flower_fleet.clusters import agent, config, lifecycle, network, processes, volumes
from flower_fleet.errors import FleetError
from flower_fleet.golang import Go
from flower_fleet.images import apps, ee, recipes
from flower_fleet.shell import remove_tree

SUBNET = IPv4Network("10.97.0.0/24")


def service(name: str, *, ip: str = "", asked: str = "", created: str = "1", **spec: Any) -> dict[str, Any]:
    """A Service of type LoadBalancer."""
    return {
        "metadata": {"namespace": "n", "name": name, "creationTimestamp": created},
        "spec": {"type": "LoadBalancer", **({"loadBalancerIP": asked} if asked else {}), **spec},
        "status": {"loadBalancer": {"ingress": [{"ip": ip}] if ip else []}},
    }


def test_no_address_is_planned_twice() -> None:
    clusters = settings.all_clusters(SUBNET)
    addresses = [item.address for item in clusters] + [ip for item in clusters for ip in item.load_balancer_ips]
    addresses += ["10.97.0.1", "10.97.0.2", "10.97.0.0", "10.97.0.255"]  # gateway, machine, network, broadcast
    assert len(set(addresses)) == len(addresses)
    assert all(IPv4Address(address) in SUBNET for address in addresses)
    for one, other in combinations(clusters, 2):
        assert not one.pods.overlaps(other.pods) and not one.services.overlaps(other.services)


def test_names_of_links_fit_the_kernel() -> None:
    assert all(len(item.link) <= 15 for item in settings.all_clusters(SUBNET))


@pytest.mark.parametrize(
    "environ, message",
    [
        ({"FLEET_SITES": "x"}, "must be a number"),
        ({"FLEET_SITES": "0"}, "1 to 26"),
        ({"FLEET_SITES": "27"}, "1 to 26"),
        ({"FLEET_SUBNET": "10.97.0.0/23"}, "must be a /24"),
        ({"FLEET_SUBNET": "10.98.7.0/24"}, "overlaps"),
        ({"FLEET_SUBNET": "moon"}, "moon"),
    ],
)
def test_settings_refuse(environ: dict[str, str], message: str) -> None:
    with pytest.raises(FleetError, match=message):
        settings.from_environment(environ)


def test_settings_of_the_environment() -> None:
    got = settings.from_environment(
        {"XDG_CACHE_HOME": "/c", "FLEET_SITES": "3", "FLEET_APISERVER_ARGS": "--v=2 '--a=b c'"}
    )
    assert got.names == ["hub", "site-a", "site-b", "site-c"]
    assert got.cache == Path("/c/flower-fleet") and got.apiserver_args == ("--v=2", "--a=b c")


def test_load_balancer_addresses() -> None:
    pool = ["a", "b", "c"]
    assert agent.assign([service("y"), service("x")], pool) == {"n/x": "a", "n/y": "b"}
    assert agent.assign([service("x", created="2"), service("y", ip="a", created="3")], pool) == {
        "n/x": "b",
        "n/y": "a",
    }
    assert agent.assign([service("x", asked="c"), service("y", asked="c", created="2")], pool) == {
        "n/x": "c",
        "n/y": "a",
    }
    assert agent.assign([service(name) for name in "vwxy"], pool) == {"n/v": "a", "n/w": "b", "n/x": "c"}
    assert agent.assign([service("x", loadBalancerClass="own"), service("y", type="ClusterIP")], pool) == {}
    assert agent.assign([service("x", ip="elsewhere")], pool) == {"n/x": "a"}


def test_names_are_known_to_dns_and_nodes() -> None:
    hub = settings.cluster("hub", SUBNET)
    for text in (dns.corefile(hub), config.hosts(hub)):
        assert re.search(r"^\s*10\.97\.0\.12 site-b\.fleet\.test", text, re.M)


def test_versions_come_from_the_modules() -> None:
    assert re.fullmatch(r"v1\.\d+\.\d+", binaries.module_version("k8s.io/kubernetes", settings.GO_DIR / "kubernetes"))
    version = binaries.module_version("github.com/coredns/coredns", settings.GO_DIR / "kubernetes")
    assert settings.COREDNS_IMAGE.endswith(version.lstrip("v"))


def test_the_one_program_knows_every_name_by_which_a_cluster_calls_it() -> None:
    known = set(re.findall(r'"(etcd|kube[a-z-]*)"', (settings.GO_DIR / "kubernetes/main.go").read_text()))
    assert known == set(binaries.PROGRAMS)
    started = processes.processes(Path("/state"), settings.cluster("hub", SUBNET), Path("/programs"), ())
    assert {Path(entry["argv"][0]).name for entry in started if entry["argv"][0].startswith("/programs/")} == known


def claim(uid: str, *, asked: str = storage.PROVISIONER, modes: tuple[str, ...] = ("ReadWriteOnce",), **spec: Any) -> dict[str, Any]:
    """A claim that Kubernetes has given to a provisioner."""
    return {
        "metadata": {"name": "data", "namespace": "n", "uid": uid, "annotations": {volumes.ASKED: asked}},
        "spec": {"accessModes": [*modes], "storageClassName": "standard", "resources": {"requests": {"storage": "1Gi"}}, **spec},
    }


def test_claims_get_volumes_which_go_with_them() -> None:
    one, other = claim("1"), claim("2")
    foreign = [claim("3", asked="else"), claim("4", modes=("ReadWriteMany",)), claim("5", volumeName="v"), claim("6", volumeMode="Block")]
    assert volumes.waiting([one, other, *foreign], []) == [one, other]
    made = volumes.volume(one, Path("/volumes"), "hub", "Delete")
    assert made["spec"]["hostPath"]["path"] == "/volumes/pvc-1" and made["spec"]["capacity"] == {"storage": "1Gi"}
    kept = volumes.volume(one, Path("/volumes"), "hub", "Retain")
    unclaimed = volumes.volume(other, Path("/volumes"), "hub", "Delete")
    del unclaimed["spec"]["claimRef"]
    assert volumes.waiting([one, other], [made]) == [other]
    assert volumes.released([one], [made, kept, unclaimed]) == []
    assert volumes.released([other], [made, kept, unclaimed]) == [made]


def test_disk_need_is_stated_per_file_system(tmp_path: Path) -> None:
    host.check_disk([(tmp_path / "not" / "yet", 0.0, "for nothing")])
    with pytest.raises(FleetError, match=r"2e\+06 GB needed \(1e\+06 GB for this, 1e\+06 GB for that\)"):
        host.check_disk([(tmp_path, 1e6, "for this"), (tmp_path, 1e6, "for that")])


def test_own_clusters(tmp_path: Path) -> None:
    file = tmp_path / "config"
    file.write_text("contexts:\n- context: {cluster: x}\n  name: hub\n- name: site-a\ncurrent-context: hub\n")
    assert external.check(file, ["hub", "site-a"]) == ["hub", "site-a"]
    with pytest.raises(FleetError, match="no context site-b"):
        external.check(file, ["hub", "site-b"])
    with pytest.raises(FleetError, match="cannot read"):
        external.check(tmp_path / "none", ["hub"])


def test_mount_points_are_recorded_before_they_are_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "there").mkdir()
    points = (tmp_path / "there/new/deep", tmp_path / "there")
    monkeypatch.setattr(lifecycle, "MOUNT_POINTS", points)
    record = lifecycle.Record(str(SUBNET))
    lifecycle.make_mount_points(record, tmp_path / "state")
    assert record.created == [str(tmp_path / "there/new"), str(tmp_path / "there/new/deep")]
    assert lifecycle.Record.load(tmp_path / "state") == record and points[0].is_dir()


def test_a_record_that_was_cut_off_counts_as_none(tmp_path: Path) -> None:
    (tmp_path / "fleet.json").write_text('{"subnet": "10.')
    assert lifecycle.Record.load(tmp_path) is None


def test_trees_with_mounts_are_not_removed(tmp_path: Path) -> None:
    remove_tree(tmp_path / "none")
    with pytest.raises(FleetError, match="still a mount"):
        remove_tree(Path("/proc"))


@pytest.mark.parametrize(
    "spec, on",
    [
        ({}, False),
        ({"workConfiguration": {}}, False),
        ({"workConfiguration": {"featureGates": [{"feature": "Other", "mode": "Enable"}]}}, False),
        ({"workConfiguration": {"featureGates": [{"feature": "ManifestWorkReplicaSet", "mode": "Disable"}]}}, False),
        ({"workConfiguration": {"featureGates": [{"feature": "ManifestWorkReplicaSet", "mode": "Enable"}]}}, True),
    ],
)
def test_the_gate_of_replica_sets_is_off_by_default(spec: dict[str, Any], on: bool) -> None:
    assert gates.enabled({"spec": spec}) is on


def test_images_of_apps_follow_what_the_apps_declare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    base = recipes.recipes("")[0]
    wanted = settings.from_environment({"XDG_CACHE_HOME": str(tmp_path)})
    assert prepare.layered_image("tabular").reference == "registry.example.com/federated-flower/tabular:1.0.0"
    with pytest.raises(FleetError, match="no image 'quickstart'; there are: .*awx-project.*tabular"):
        prepare.layered_image("quickstart")
    app = tmp_path / "own"
    app.mkdir()
    (app / "Containerfile").touch()
    (app / "pyproject.toml").write_text('[project]\nname = "own"\nversion = "2.1"\n')
    monkeypatch.setattr(apps, "EXAMPLES", tmp_path)
    image = apps.AppImage("own", base)
    before = image.path(wanted)
    assert image.reference.endswith("/own:2.1") and before.parent.name not in ("images", "seed", "bin")
    (app / "pyproject.toml").write_text('[project]\nname = "own"\nversion = "2.2"\n')
    assert image.path(wanted) != before


@pytest.mark.parametrize("given", ["{}", "{}/", "{}/../mine"])
def test_the_image_of_an_app_in_any_folder(tmp_path: Path, given: str) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "pyproject.toml").write_text('[project]\nname = "My-App"\nversion = "2.1"\n')
    image = prepare.layered_image(given.format(folder))
    assert isinstance(image, apps.AppImage) and image.reference == f"{apps.REGISTRY}/my-app:2.1"
    before = image.key()
    (folder / "pyproject.toml").write_text('[project]\nname = "My-App"\nversion = "2.2"\n')
    assert image.key() != before


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "has no app"),
        ("[project", "has no app"),
        ("[project]\nversion = '1'\n", "has no app"),
        ('project = "x"', "has no app"),
        ('[project]\nname = "../x"\nversion = "1"\n', "cannot be the name of an image"),
        ('[project]\nname = "x"\n', "has no version"),
        ('[project]\nname = "x"\nversion = "1+cpu"\n', "cannot be the tag"),
    ],
)
def test_a_folder_without_an_app_that_could_have_an_image(tmp_path: Path, text: str | None, words: str) -> None:
    if text is not None:
        (tmp_path / "pyproject.toml").write_text(text)
    with pytest.raises(FleetError, match=words):
        prepare.layered_image(str(tmp_path))


def test_images_of_another_release_of_flower() -> None:
    image = prepare.layered_image("flower-1.41.0")
    assert [one.reference for one in image.archives] == [f"docker.io/flwr/{program}:1.41.0" for program in ("superlink", "supernode", "superexec")]
    assert len({one.name for one in image.archives}) == 3
    assert image.key() != prepare.layered_image("flower-1.40.0").key()
    for wrong in ("flower-1.42.0", "flower-latest"):
        with pytest.raises(FleetError, match="not another release"):
            prepare.layered_image(wrong)


def test_the_image_of_the_execution_environment_follows_the_definition(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    image = prepare.layered_image("awx-project")
    assert [one.reference for one in image.archives] == [f"{ee.REFERENCE}-environment", ee.REFERENCE]
    environment, _collections = image.archives
    before = environment.key(), image.key()
    definition = tmp_path / "execution-environment.yml"
    definition.write_text(f"{ee.DEFINITION.read_text()}# changed\n")
    monkeypatch.setattr(ee, "DEFINITION", definition)
    assert environment.key() != before[0] and image.key() != before[1]


def test_build_steps_that_the_fleet_does_not_do_are_refused() -> None:
    steps = {"append_final": ["ENV A=1 B='2 3'"]}
    assert ee.settings_of({"additional_build_steps": steps}) == ["A=1", "B=2 3"]
    assert ee.settings_of({}) == []
    for stage, step in (("append_final", "RUN true"), ("prepend_base", "ENV A=1")):
        with pytest.raises(FleetError, match="does not do these steps"):
            ee.settings_of({"additional_build_steps": {stage: [step]}})


def test_what_an_addon_understands() -> None:
    options = cli.parser().parse_args(
        ["addon", "ocm", "up", "--pending", "site-a", "--pending", "site-b", "--lease", "4", "--replica-sets"]
    )
    assert (options.pending, options.lease, options.replica_sets) == (["site-a", "site-b"], 4, True)
    assert cli.parser().parse_args(["addon", "ocm", "stop", "site-a"]).site == "site-a"
    assert cli.parser().parse_args(["addon", "skupper", "up", "--resync", "5"]).resync == 5
    assert cli.parser().parse_args(["addon", "skupper", "up"]).resync == 30
    assert cli.parser().parse_args(["addon", "mlflow", "up"]).verb == "up"
    assert cli.parser().parse_args(["image", "tabular"]).name == "tabular"
    for wrong in ("image", "addon ocm stop", "addon cert-manager stop site-a", "addon none up"):
        with pytest.raises(SystemExit):
            cli.parser().parse_args(wrong.split())


def test_one_command_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shell, "_locks", [])
    name, waited = f"fleet-test-{os.getpid()}", []
    shell.lock(name, timeout=0, waiting=lambda: waited.append("first"))
    with pytest.raises(FleetError, match="another fleet command still runs"):
        shell.lock(name, timeout=0.3, waiting=lambda: waited.append("second"))
    assert waited == ["second"]
    program = "import sys; from flower_fleet.shell import lock; lock(sys.argv[1], timeout=0, waiting=lambda: None)"
    other = subprocess.run([sys.executable, "-c", program, name], cwd=Path(__file__).parent, capture_output=True, text=True, check=False)
    assert other.returncode == 1 and "another fleet command" in other.stderr
    shell._locks.pop().close()
    shell.lock(name, timeout=0, waiting=lambda: waited.append("third"))
    assert waited == ["second"]
    shell._locks.pop().close()


def test_without_root_it_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 65534)
    with pytest.raises(FleetError, match="needs root"):
        host.require_root()


@pytest.mark.parametrize("was_loaded", [False, True])
def test_bridges_of_the_machine_are_filtered_as_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, was_loaded: bool) -> None:
    """The module switches filtering on for the bridges that are there, of virtual machines for example."""
    values = tmp_path / "bridge"

    def modprobe(*_words: Any, **_options: Any) -> None:
        values.mkdir(exist_ok=True)
        (values / "bridge-nf-call-iptables").write_text("1\n")

    if was_loaded:
        modprobe()
    monkeypatch.setattr(host, "run", modprobe)
    host.load_modules({}, values)
    assert (values / "bridge-nf-call-iptables").read_text() == ("1\n" if was_loaded else "0\n")


def test_with_sudo_go_does_not_use_the_caches_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GOCACHE", "GOMODCACHE", "XDG_CACHE_HOME", "SUDO_UID"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/home/jane")
    assert "GOMODCACHE" not in Go("/go/bin/go", "go1.26").environment()
    monkeypatch.setenv("SUDO_UID", "1000")
    assert Go("/go/bin/go", "go1.26").environment()["GOMODCACHE"] == "/home/jane/.cache/flower-fleet/go/modules"


@pytest.mark.parametrize(("flags", "is_up"), [("0x1003\n", True), ("0x1002\n", False), (None, False)])
def test_a_link_that_was_not_completed_is_no_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flags: str | None, is_up: bool) -> None:
    monkeypatch.setattr(network, "LINKS", tmp_path)
    if flags:
        (tmp_path / network.HOST_LINK).mkdir()
        (tmp_path / network.HOST_LINK / "flags").write_text(flags)
    assert network.host_link_is_up() is is_up
