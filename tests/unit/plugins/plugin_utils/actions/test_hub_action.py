# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Variables of sites as the hub reads them: a site whose template is wrong stops no other, and loses nothing meanwhile."""

from __future__ import annotations

import base64
import datetime
import json
from typing import Any

import pytest
from ansible.inventory.manager import InventoryManager
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar
from ansible.vars.hostvars import HostVars
from ansible.vars.manager import VariableManager

from ansible_collections.federated.flower.plugins.plugin_utils.actions.hub_action import CertificateAction
from ansible_collections.federated.flower.plugins.plugin_utils.actions.role_options import trusted
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.kube.configmaps import config_map
from ansible_collections.federated.flower.plugins.plugin_utils.manifests.gateway import CERTIFICATE_VOLUME
from ansible_collections.federated.flower.plugins.plugin_utils.pki import certificates
from ansible_collections.federated.flower.plugins.plugin_utils.state import access_records
from ansible_collections.federated.flower.plugins.plugin_utils.state.ledger import BOOK, SITE_LABEL
from ansible_collections.federated.flower.plugins.plugin_utils.state.partition_numbers import empty_book
from ansible_collections.federated.flower.plugins.plugin_utils.state.records import empty_record
from ansible_collections.federated.flower.tests.unit.rows import each_row

DAY = datetime.timedelta(days=1)
WRONG = "{{ gateways[region_without_value] }}"


class Action(CertificateAction):
    """An action of a task on the hub of a fleet: site -> its variables."""

    def __init__(self, **sites: dict[str, Any]) -> None:
        loader = DataLoader()
        inventory = InventoryManager(loader=loader, sources=[",".join(["hub", *sites, ""])])
        for name, variables in sites.items():
            for variable, value in {"gateways": {"eu": "gw.eu:9092"}, **variables}.items():
                inventory.get_host(name).set_variable(
                    variable, trusted(value)
                )
        self.inventory_host = "hub"
        self.task_vars = {"hostvars": HostVars(inventory, VariableManager(loader=loader, inventory=inventory), loader)}
        self._templar = Templar(loader=loader, variables={})

    def execute(self, params: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        raise AssertionError("the tests call the methods of which it is made")


class Hub:
    """A cluster whose gateway serves a certificate with some names; without any it has none yet."""

    def __init__(self, *names: str) -> None:
        self.names = names

    def get(self, api_version: str, kind: str, name: str, namespace: str | None = None) -> Any:
        if not self.names:
            return None
        if kind == "StatefulSet":
            volume = {"name": CERTIFICATE_VOLUME, "secret": {"secretName": "superlink-tls"}}
            return {"spec": {"template": {"spec": {"volumes": [volume]}}}}
        pem = certificates.issue(certificates.make_ca("ca", DAY), "superlink", list(self.names), DAY).certificate
        return {"data": {"tls.crt": base64.b64encode(pem.encode()).decode()}}


def wanted(parsed_hub: Any, hub: Hub, **sites: dict[str, Any]) -> tuple[Any, list[str]]:
    warnings: list[str] = []
    params = {"spec": parsed_hub(superlink_address=""), "ca_namespace": "flower-ca", "sites": list(sites)}
    return Action(**sites).wanted(hub, params, "hub.example:9092", warnings), warnings


@each_row(
    "variables",
    [{"supernode_superlink_address": WRONG}, {"supernode_server_name": WRONG}, {"flower_connectivity": WRONG}],
)
def test_a_wrong_template_of_one_site_stops_no_other(parsed_hub: Any, variables: dict[str, Any]) -> None:
    found, warnings = wanted(parsed_hub, Hub("own.example"), bad=variables, good={})
    assert found.needed == {"hub.example": "good"}
    assert "own.example" in found.names, "a name that the site may verify stays in the certificate"
    (words,) = warnings
    assert words.startswith(f"bad: {next(iter(variables))}: its template cannot be evaluated: ")
    assert "own.example" not in wanted(parsed_hub, Hub(), bad=variables)[0].names, "there is no certificate yet"


def test_faults_that_the_sites_report_themselves(parsed_hub: Any) -> None:
    listed = {"supernode_server_name": ["a"]}
    text = {"supernode_superlink_address": 9092, "supernode_sidecar": False}
    found, warnings = wanted(parsed_hub, Hub("own.example"), listed=listed, text=text, good={})
    assert (found.needed, warnings) == ({"hub.example": "good"}, [])
    assert "own.example" not in found.names


def test_sites_that_a_router_would_not_lead_to_the_gateway_stop_the_run(parsed_hub: Any) -> None:
    spec = parsed_hub(superlink_address="", exposure="ingress", host="hub.example", server_name="own.example")
    params = {"spec": spec, "ca_namespace": "flower-ca", "sites": ["here", "there"]}
    action = Action(here={"supernode_superlink_address": "superlink.flower.svc:9092"}, there={})
    with pytest.raises(ClusterError, match="^there: connects to hub.example and verifies own.example, .*[.]$"):
        action.wanted(Hub(), params, "hub.example:443", [])
    named = action.wanted(Hub(), {**params, "spec": parsed_hub(superlink_address="", exposure="ingress", host="hub.example")}, "hub.example:443", [])
    assert named.name_variable == "superlink_host"


@each_row(("source", "stays"), [("builtin", True), ("cert_manager", False), ("existing", False)])
def test_sites_that_have_the_old_address_still_verify_the_gateway(parsed_hub: Any, source: str, stays: bool) -> None:
    """A bundle is applied days after the run that made it."""

    class Published(Hub):
        def get(self, api_version: str, kind: str, name: str, namespace: str | None = None) -> Any:
            return {"data": {"address": "old.example:9092", "server_name": "gateway.example"}} if name == "flower-federation" else None

    for hub, told in ((Published(), {"old.example", "gateway.example"} if stays else set()), (Hub(), set())):
        params = {"spec": parsed_hub(superlink_address="", certificates_source=source), "ca_namespace": "flower-ca", "sites": []}
        found = Action().wanted(hub, params, "hub.example:9092", [])
        assert {"old.example", "gateway.example"} & set(found.names) == told
        assert "hub.example" in found.names and found.needed == {"hub.example": "sites"}


def test_whether_a_site_is_in_the_network() -> None:
    action = Action(
        inside={"flower_connectivity": "skupper"},
        outside={},
        misspelt={"flower_connectivity": "skuper"},
        bad={"flower_connectivity": WRONG},
    )
    assert [action.is_in_network(site) for site in ("inside", "outside", "misspelt")] == [True, False, False]
    with pytest.raises(
        ClusterError, match="^bad: flower_connectivity: its template cannot be evaluated: .*corrected in the inventory"
    ):
        action.is_in_network("bad")


class Denying:
    """A hub whose ledger denies C(site-b), and C(site-c), which has left; C(site-a) is admitted."""

    name = "hub"

    def __init__(self) -> None:
        self.requests = 0

    def get(self, _api: str, _kind: str, name: str, _namespace: str) -> Any:
        self.requests += 1
        assert name == BOOK
        return self._item(BOOK, access_records.deny_absent(empty_book(), "site-c", "revoked", "2026-11-21T10:00:00+00:00"))

    def list(self, _api: str, _kind: str, _namespace: str, *, labels: str) -> Any:
        self.requests += 1
        denied = access_records.deny(empty_record("site-b"), "a break-in", "2026-11-21T10:00:00+00:00")
        records = {"site-a": empty_record("site-a"), "site-b": denied}
        return [self._item(f"flower-site-{site}", record, {SITE_LABEL: site}) for site, record in records.items()]

    @staticmethod
    def _item(name: str, content: Any, labels: Any = None) -> Any:
        data = {"ledger.json": json.dumps(content)}
        return config_map("flower", "flower", name, data, application="flower-ledger", component="ledger", labels=labels)


@each_row(
    ("changes", "sites", "denied"),
    [
        ({"client_certificates": "none"}, ["site-a", "site-b"], "site-b"),
        ({"client_certificates": "none"}, ["site-a"], "site-b"),  # its keys are registered until it is forgotten
        ({"client_certificates": "none"}, ["site-c"], "site-b, site-c"),  # it would join again
        ({"insecure": True}, [], "site-b"),
    ],
)
def test_a_gateway_that_could_not_refuse_a_denied_site_is_not_deployed(parsed_hub: Any, changes: Any, sites: list[str], denied: str) -> None:
    with pytest.raises(ClusterError) as told:
        CertificateAction.check_denials(Denying(), parsed_hub(**changes), sites)
    setting = "flower_insecure: true" if "insecure" in changes else "superlink_client_certificates: none"
    assert told.value.message.startswith(f"{setting}: the gateway would admit sites that are denied ({denied}), ")
    names = ", ".join(f'"{name}"' for name in denied.split(", "))
    assert f'-e \'{{"flower_site": [{names}], "flower_access": "admitted"}}\'.' in told.value.message


def test_denials_that_can_be_bypassed_are_warned_of(parsed_hub: Any) -> None:
    hub = Denying()
    (words,) = CertificateAction.check_denials(hub, parsed_hub(client_certificates="optional"), ["site-a", "site-b"])
    assert "(site-b) are refused only as long as they present their certificates" in words and hub.requests == 2
    assert CertificateAction.check_denials(hub, parsed_hub(client_certificates="required"), ["site-b"]) == []
    assert hub.requests == 2, "nothing is read where they are required"
