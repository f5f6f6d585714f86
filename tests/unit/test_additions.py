# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A delivery, an exposure and a rotation target are added to a copy of the collection: one class, one entry, and the specs."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.manifests.exposure import EXPOSURES
from ansible_collections.federated.flower.plugins.plugin_utils.rotation.targets import CHOICES
from ansible_collections.federated.flower.plugins.plugin_utils.sites.registry import DELIVERIES
from ansible_collections.federated.flower.tests.unit.read import ROOT, role_options

pytestmark = pytest.mark.playbook

CALLBACKS = ROOT / "tests" / "integration" / "callback_plugins"
PACKAGE = "ansible_collections.federated.flower.plugins"
SOURCES = Path("plugins/plugin_utils")
# Nobody answers there: what is asked of a cluster fails.
NOWHERE = {"host": "https://127.0.0.1:1", "api_key": "-"}


class Tree:
    """A copy of the collection, and what was changed in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.root = folder / "ansible_collections" / "federated" / "flower"
        for name in ("meta", "playbooks", "plugins", "roles"):
            shutil.copytree(ROOT / name, self.root / name)
        self.begin()

    def begin(self) -> None:
        """What is touched is touched from now on."""
        self.before = self.digests()

    def digests(self) -> dict[str, str]:
        """Path -> digest of every file."""
        return {
            path.relative_to(self.root).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in self.root.rglob("*")
            if path.is_file() and path.suffix != ".pyc"
        }

    def add(self, path: Path, text: str) -> None:
        """Add a file."""
        assert not (self.root / path).exists()
        (self.root / path).write_text(text, encoding="utf-8")

    def edit(self, path: Path | str, *changes: tuple[str, str]) -> None:
        """Replace texts that occur once."""
        text = (self.root / path).read_text(encoding="utf-8")
        for old, new in changes:
            assert text.count(old) == 1, f"{old!r} occurs {text.count(old)} times"
            text = text.replace(old, new)
        (self.root / path).write_text(text, encoding="utf-8")

    def touched(self) -> tuple[list[str], list[str]]:
        """Files of code, and others, that were added or changed."""
        after = self.digests()
        found = sorted(path for path in after | self.before if after.get(path) != self.before.get(path))
        return [path for path in found if path.endswith(".py")], [path for path in found if not path.endswith(".py")]

    def run(self, *command: str) -> str:
        """Run a command that takes the collection from here; returns its output."""
        env = {
            **os.environ,
            "ANSIBLE_COLLECTIONS_PATH": str(self.folder),
            "PYTHONPATH": str(self.folder),
            "ANSIBLE_HOME": str(self.folder / "home"),
            "ANSIBLE_CALLBACK_PLUGINS": str(CALLBACKS),
            "ANSIBLE_CALLBACKS_ENABLED": "results_json",
            "FLOWER_RESULTS": str(self.folder / "results.jsonl"),
        }
        command = (str(Path(sys.executable).parent / command[0]), *command[1:])
        done = subprocess.run(command, cwd=self.folder, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        return done.stdout

    def play(
        self, tasks: list[dict[str, Any]], others: dict[str, Any] | None = None, **site: Any
    ) -> list[dict[str, Any]]:
        """Run tasks for site-a, and for other sites with the variables that differ there; returns their results."""
        sites = {"site-a": site, **{name: {**site, **differing} for name, differing in (others or {}).items()}}
        groups = {"flower_hub": {"hosts": {"hub": {}}}, "flower_sites": {"hosts": sites}}
        shared = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable, "flower_auth": NOWHERE}
        play = {"hosts": "flower_sites", "gather_facts": False, "tasks": tasks}
        (self.folder / "inventory.json").write_text(json.dumps({"all": {"vars": shared, "children": groups}}))
        (self.folder / "play.json").write_text(json.dumps([play]))
        self.run("ansible-playbook", "-i", "inventory.json", "play.json")
        results = self.folder / "results.jsonl"
        lines = results.read_text(encoding="utf-8").splitlines()
        results.unlink()
        return [json.loads(line)["result"] for line in lines]

    def python(self, program: str) -> Any:
        """Run a program; returns the JSON that it prints."""
        return json.loads(self.run("python", "-c", program))


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    return Tree(tmp_path_factory.mktemp("additions"))


@pytest.fixture
def tree(copied: Tree) -> Tree:
    copied.begin()
    return copied


def test_the_specs_name_what_is_registered() -> None:
    assert role_options("supernode")["flower_delivery"]["choices"] == list(DELIVERIES)
    assert role_options("superlink")["superlink_exposure"]["choices"] == ["auto", *EXPOSURES]
    assert role_options("cert_rotation")["cert_rotation_rotate"]["choices"] == list(CHOICES)
    sources = {source for delivery in DELIVERIES.values() for source in delivery.key_sources}
    assert set(role_options("supernode")["flower_key_source"]["choices"]) == sources


TOY_DELIVERY = """
'''A toy: the objects of a site are listed in a message.'''

from . import workloads
from .site import PreflightResult, StepResult


class Backend:
    def __init__(self, run, site):
        self.run, self.site = run, site

    def detect_platform(self):
        pass

    def preflight(self, hub):
        return PreflightResult(f"{self.site.name} plays", version="v0-toy")

    def apply_apps(self, objects, gate, seconds):
        rows = [
            {"kind": one["kind"], "name": one["metadata"]["name"], "namespace": self.site.namespace, "change": "created"}
            for one in objects
        ]
        return StepResult(changed=True, objects=rows, msg=f"{len(rows)} objects played")

    def remove(self, *, volumes):
        return StepResult(changed=True, msg=f"{self.site.name} is put away, volumes: {volumes}")

    def close(self):
        pass


def statuses(run, sites, seconds, workers):
    return {site.name: {**workloads.unknown(), "trouble": "it is a toy"} for site in sites}
"""


def test_a_delivery(tree: Tree) -> None:
    tree.add(SOURCES / "sites" / "toy.py", TOY_DELIVERY)
    tree.edit(
        SOURCES / "sites" / "registry.py",
        (
            'DIRECT: Delivery("direct", (CONTROLLER, SITE)),\n',
            'DIRECT: Delivery("direct", (CONTROLLER, SITE)),\n    "toy": Delivery("toy", (SITE,), own_access=False, why="a toy"),\n',
        ),
    )
    tree.edit("roles/supernode/meta/argument_specs.yml", ("choices: [direct, ocm, bundle]", "choices: [direct, ocm, bundle, toy]"))
    code, others = tree.touched()
    assert code == ["plugins/plugin_utils/sites/registry.py", "plugins/plugin_utils/sites/toy.py"]
    assert others == ["roles/supernode/meta/argument_specs.yml"]

    def step(action: str, **options: Any) -> dict[str, Any]:
        return {f"federated.flower.{action}": options, "run_once": True}

    results = tree.play(
        [
            step("supernode", state="checked"),
            step("supernode", part="clientapp"),
            step("supernode_info"),
            # A task for all sites leaves out those for which the condition of its role or block is false.
            {**step("supernode_info"), "when": "flower_delete_volumes"},
            step("supernode", state="absent"),
        ],
        others={"site-b": {"flower_delete_volumes": False}},
        flower_delivery="toy",
        flower_delete_volumes=True,
        flower_clientapp="workload",
        flower_app_image="example.com/app:1",
    )
    checked, deployed, info, _conditional, removed = (result["sites"]["site-a"] for result in results)
    assert [list(result["sites"]) for result in results[2:4]] == [["site-a", "site-b"], ["site-a"]]
    assert (checked["msg"], checked["version"]) == ("site-a plays", "v0-toy") and not checked.get("failed")
    assert not deployed.get("failed") and deployed["changed"], deployed
    assert ("StatefulSet", "clientapp-default") in {(one["kind"], one["name"]) for one in deployed["objects"]}
    assert info["trouble"] == "it is a toy"
    assert removed["msg"] == "site-a is put away, volumes: True" and removed["changed"]
    assert results[-1]["sites"]["site-b"]["msg"] == "site-b is put away, volumes: False", (
        "each site has its own variables"
    )


TOY_EXPOSURE = """
class Toy(OutsideExposure):
    '''A toy: a second Service beside the first.'''

    name = "toy"
    service_type = "NodePort"

    def objects(self, spec):
        body = {"type": "ExternalName", "externalName": spec.host}
        return [api_object(spec, "v1/Service", "superlink-toy", "superlink", {"spec": body})]

    def address(self, spec, live):
        return join(spec.host, 30092)


EXPOSURES:"""

RENDER = f"""
import json
from {PACKAGE}.plugin_utils.manifests import exposure
from {PACKAGE}.plugin_utils.spec.hub_spec import HubSpec
from {PACKAGE}.plugin_utils.manifests import superlink
from {PACKAGE}.plugin_utils.checks import hub_rules

given = json.load(open("spec.json"))
front = superlink.front_objects(HubSpec.parse(given))
address = exposure.address(HubSpec.parse(given))
print(json.dumps([hub_rules.hub_problems(given), front, address]))
"""


def test_an_exposure(tree: Tree) -> None:
    path = SOURCES / "manifests" / "exposure.py"
    tree.edit(path, ("EXPOSURES:", TOY_EXPOSURE.lstrip()), ("())}", "(), Toy())}"))
    listed = f"[{', '.join(['auto', *EXPOSURES])}"
    tree.edit("roles/superlink/meta/argument_specs.yml", (f"{listed}]", f"{listed}, toy]"))
    code, others = tree.touched()
    assert code == [str(path)]
    assert others == ["roles/superlink/meta/argument_specs.yml"]

    kept = {"dest": str(tree.folder / "spec.json"), "content": "{{ described.spec | to_json }}"}
    describe = {"federated.flower.superlink": {"state": "described"}, "register": "described"}
    tree.play([describe, {"ansible.builtin.copy": kept}], superlink_exposure="toy", superlink_host="toys.example.com")
    faults, front, address = tree.python(RENDER)
    assert faults == [] and address == "toys.example.com:30092"
    services = {one["metadata"]["name"]: one["spec"] for one in front if one["kind"] == "Service"}
    assert services["superlink"]["type"] == "NodePort" and services["superlink-toy"]["type"] == "ExternalName"


TOY_TARGET = '''
class Toy(Target):
    """A toy: what sites hold is as old as its CA."""

    name = "toy"
    cost = "new toys for the sites"
    renew = ("client",)

    def due(self, inputs):
        return "it is worn out" if inputs.internal else None


# In the order in which they are rotated.
'''

PLAN = f"""
import datetime, json
from {PACKAGE}.plugin_utils.rotation import targets
from {PACKAGE}.plugin_utils.rotation.machine import Facts

now = datetime.datetime.now(datetime.timezone.utc)
inputs = targets.RotationInputs(now, "existing", None, "-", dict(), [], None, Facts(now), dict(), internal=True)
asked, refused = targets.decide("toy", inputs)
due, _none = targets.decide("due", inputs)
outlook, toy = targets.outlook(asked, inputs, dict()), targets.TARGETS["toy"]
print(json.dumps([asked, refused, due, outlook, toy.part, toy.renew, toy.restarts, targets.CHOICES]))
"""


def test_a_rotation_target(tree: Tree) -> None:
    path = SOURCES / "rotation" / "targets.py"
    tree.edit(path, ("# In the order in which they are rotated.\n", TOY_TARGET.lstrip()), ("SecretsTarget())}", "SecretsTarget(), Toy())}"))
    listed = "[due, leaf, ca, client, supernode_keys, superexec"
    tree.edit("roles/cert_rotation/meta/argument_specs.yml", (f"{listed}]", f"{listed}, toy]"))
    code, others = tree.touched()
    assert code == [f"{path}"]
    assert others == ["roles/cert_rotation/meta/argument_specs.yml"]

    asked, refused, due, outlook, part, renewed, restarts, choices = tree.python(PLAN)
    assert asked == {"toy": "it was requested"} and refused is None
    assert due["toy"] == "it is worn out" and list(due)[-1] == "toy"
    assert outlook == ["toy: it was requested: new toys for the sites."]
    assert (part, renewed, restarts) == ("sites", ["client"], False)
    assert choices[-1] == "toy"
