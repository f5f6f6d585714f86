# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: Apache-2.0
"""The controller that the environment names, with a console made by C(playbooks/awx.yml), and users of its teams."""

from __future__ import annotations

import json
import os
import re
import secrets
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from controller import Controller, Refused, wait
from project import Project, serving

from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import connect

NAME = os.environ.get("FLOWER_AWX_NAME", "Flower test")
SPACE = os.environ.get("FLOWER_AWX_NAMESPACE", "flower-awx-test")
ROOT = Path(__file__).parents[2]


def asked(variable: str, why: str) -> str:
    """What the environment says, or the end of all tests."""
    value = os.environ.get(variable, "")
    if not value:
        pytest.exit(f"{variable} is not set: {why}. tests/awx/README.md lists all variables.", returncode=2)
    return value


@dataclass(frozen=True)
class Recap:
    """A run of awx.yml."""

    rc: int
    output: str

    @property
    def changed(self) -> int:
        return int(re.findall(r"changed=(\d+)", self.output)[-1])


@dataclass
class Console:
    """The console under test: its controller as an administrator sees it, its project, and what its notifications said."""

    admin: Controller
    project: Project
    notified: list[dict[str, Any]]
    variables: dict[str, Any] = field(repr=False)  # a failed test shows what it was called with
    folder: Path
    token: str = field(repr=False)  # with a password, each module logs in

    def playbook(self, *options: str, **variables: Any) -> Recap:
        """Run awx.yml as a user does. Secrets are in a file, not among the arguments."""
        given = self.folder / "console.json"
        given.write_text(json.dumps({**self.variables, **variables}))
        given.chmod(0o600)
        run = subprocess.run(
            ["ansible-playbook", "federated.flower.awx", "-e", f"@{given}", *options],
            env={**os.environ, "ANSIBLE_NOCOLOR": "1", "CONTROLLER_OAUTH_TOKEN": self.token},
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        print(run.stdout)
        return Recap(run.returncode, run.stdout)

    def sync(self) -> None:
        """Update the inventory, as the first node of the workflow does: with the project, which is updated on launch."""
        source = self.admin.named("inventory_sources", f"{NAME} clusters")
        update = self.admin.post(f"inventory_sources/{source['id']}/update/")
        self.admin.done(self.admin.get(f"inventory_updates/{update['id']}/"))

    def tear_down(self) -> None:
        """Remove the federation."""
        answers = {"flower_teardown": "true", "flower_delete_volumes": "true"}
        self.admin.done(self.admin.launch(f"{NAME} teardown", extra_vars=answers))

    def hosts(self) -> set[str]:
        inventory = self.admin.named("inventories", NAME)
        return self.admin.names("hosts", inventory=str(inventory["id"]))

    def pods(self, site: str) -> dict[str, str]:
        """Name -> uid of the pods of a site."""
        variables = fleet(site)["all"]["children"]["flower_sites"]["hosts"][site]
        kubeconfig = asked("FLOWER_AWX_KUBECONFIG", "this test looks at a cluster")
        with connect({"kubeconfig": kubeconfig, "context": variables["flower_context"]}) as cluster:
            found = cluster.list("v1", "Pod", variables.get("supernode_namespace", SPACE))
        return {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in found}

    def told(self, *words: str) -> Callable[[], bool]:
        """Whether a notification has all of these words."""
        return lambda: any(all(word in json.dumps(one) for word in words) for one in self.notified)


def fleet(*sites: str, replicas: int = 1) -> dict[str, Any]:
    """The inventory with the hub and these sites, each with so many SuperNodes. The cluster of site-c is that of site-b, in another namespace."""
    common = {
        "ansible_connection": "local",
        "ansible_python_interpreter": "{{ ansible_playbook_python }}",
        "flower_federation": "awx-test",
        "flower_namespace": SPACE,
        "flower_ca_namespace": f"{SPACE}-ca",
    }
    node_config = {"partition-id": "{partition}", "num-partitions": "{partitions}"}
    pools = [{"name": "cpu", "replicas": replicas, "node_config": node_config}]
    hub = {"flower_context": "hub", "superlink_exposure": "node_port", "superlink_storage_size": "256Mi"}
    hosts = {site: {"flower_context": site, "flower_region": "eu", "supernode_pools": pools} for site in sites}
    if "site-c" in hosts:
        hosts["site-c"] |= {"flower_context": "site-b", "supernode_namespace": f"{SPACE}-c"}
    return {
        "all": {"vars": common, "children": {"flower_hub": {"hosts": {"hub": hub}}, "flower_sites": {"hosts": hosts}}}
    }


@pytest.fixture(scope="session")
def admin() -> Controller:
    why = "the tests need a controller, and a user who may create organizations and credential types"
    return Controller(*(asked(f"CONTROLLER_{name}", why) for name in ("HOST", "USERNAME", "PASSWORD")))


@pytest.fixture(scope="session")
def console(admin: Controller, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    """Everything but the console itself, which the first test creates. All of it is removed at the end."""
    folder = tmp_path_factory.mktemp("awx")
    kubeconfig = Path(asked("FLOWER_AWX_KUBECONFIG", "jobs need a kubeconfig with the contexts hub, site-a and site-b"))
    address = os.environ.get("FLOWER_AWX_ADDRESS", "127.0.0.1")
    with serving(folder / "served", address) as (url, notified):
        hook = {"url": f"{url}/hook", "http_method": "POST", "headers": {}}
        variables = {
            "awx_name": NAME,
            "awx_organization": NAME,
            "awx_delete_organization": True,
            "awx_project_url": f"{url}/project.git",
            "awx_image": os.environ.get("FLOWER_AWX_IMAGE", ""),
            "awx_instance_groups": [one for one in os.environ.get("FLOWER_AWX_GROUPS", "").split(",") if one],
            "awx_kubeconfig": kubeconfig.read_text(),
            "awx_notification_templates": [
                {"name": f"{NAME} hook", "notification_type": "webhook", "notification_configuration": hook}
            ],
        }
        token = admin.post("tokens/", scope="write")
        found = Console(admin, Project(folder), notified, variables, folder, token["token"])
        found.project.commit(fleet("site-a", "site-b"))
        assert found.playbook(awx_state="absent").rc == 0  # what an earlier session left
        yield found
        try:
            if f"{NAME} teardown" in admin.names("job_templates"):  # its last test removes it, if it comes so far
                found.tear_down()
        finally:
            assert found.playbook(awx_state="absent").rc == 0
            admin.call("DELETE", token["url"])


@pytest.fixture
def member(admin: Controller, console: Console) -> Iterator[Callable[[str], Controller]]:
    """Function: a new user of a team."""
    users = []

    def add(team: str) -> Controller:
        password = secrets.token_urlsafe(16)
        name = f"flower-test-{secrets.token_hex(4)}"
        users.append(admin.post("users/", username=name, password=password)["id"])
        admin.post(f"teams/{admin.named('teams', f'{NAME} {team}')['id']}/users/", id=users[-1])
        return Controller(admin.host, name, password)

    yield add
    for user in users:
        admin.call("DELETE", f"users/{user}/")


@pytest.fixture
def cut() -> Iterator[Callable[[], None]]:
    """Function: cut the cluster site-b off. It is mended at the end."""
    commands = [os.environ.get(f"FLOWER_AWX_{verb}", "") for verb in ("CUT", "MEND")]
    if not all(commands):
        pytest.skip(
            "FLOWER_AWX_CUT and FLOWER_AWX_MEND are not set: commands that cut the cluster site-b off and mend it"
        )
    yield lambda: subprocess.run(shlex.split(commands[0]), check=True) and None
    subprocess.run(shlex.split(commands[1]), check=True)


__all__ = ["NAME", "Console", "Controller", "Refused", "fleet", "wait"]
