# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rotate the certificates of the Skupper network at the hub, one object a step.

A Secret is recreated by deleting it: Skupper then recreates it for its Certificate, within half a minute. That is done with
nothing but Secrets, so no Link, Site or RouterAccess is touched.
"""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Mapping
from typing import Any

from ..apply.readiness import State
from ..base.errors import ClusterError
from ..base.formats import duration, moment
from ..base.plain_data import to_json_data
from ..base.secret_data import encode, entries
from ..kube.api_errors import Conflict
from ..kube.client import Cluster
from ..manifests import skupper
from ..manifests.skupper import SITE_SERVER
from ..pki import certificates
from ..skupper import cluster_state, link_credentials, rotation_plan, site_plan, state
from ..skupper.ownership import is_issued, is_ours
from ..skupper.rotation_plan import CA, DUE, REPLACE_CA, REPLACE_SERVER, SERVER, TRUST_BOTH
from ..state import access_records, forgetting
from ..state.ledger import Ledger
from .skupper_action import Object, SkupperAction

_CUT = "0"  # prior revisions that stay valid

BEGIN, FINISH = "begin", "finish"


class HubRotation:
    """A rotation at the hub: C(begin), then the sites get their new certificates, then C(finish).

    Args:
        action: keeps account of what is done.
        params: options of M(federated.flower.skupper).
    """

    def __init__(self, action: SkupperAction, cluster: Cluster, params: Mapping[str, Any]) -> None:
        self.action, self.cluster, self.params = action, cluster, params
        self.namespace, self.revoked = params["hub_namespace"], params["revoke"]

    def begin(self) -> dict[str, Any]:
        """Replace what is due or requested, except what the sites must be ready for."""
        action, params, skew = self.action, self.params, datetime.timedelta(seconds=self.cluster.skew or 0)
        before = self.read()
        choice = CA if self.revoked else params["rotate"]
        known = dataclasses.replace(before, links={site: pem for site, pem in before.links.items() if site in params["sites"]})
        todo = rotation_plan.todo(choice, known, datetime.datetime.now(datetime.timezone.utc) + skew, duration(params["renew_before"]))
        if {CA, SERVER} & set(todo):
            self._leave_given(todo, choice)
            if choice != DUE and rotation_plan.stage(before) == rotation_plan.NONE:
                raise ClusterError(
                    f"the Secret of the CA or {SITE_SERVER} is not in namespace {self.namespace} of {self.cluster.name}, so nothing "
                    "can be rotated or revoked. Skupper recreates them within half a minute. Check that its controller is running, then run again."
                )
        since = None
        if self.revoked:
            todo[CA] = f"the link of {self.revoked} is revoked"
            since = self.deny()
        facts = rotation_plan.facts(before)
        action.done["changed"] |= bool(todo) and action.check
        if todo and not action.check:
            if self.revoked and (first := rotation_plan.first_of_revocation(self.read(), since)):
                self.step(first)
            wanted = set(todo)
            while step := rotation_plan.next_step(self.read(), wanted, changed_over=False):
                if step == REPLACE_SERVER and CA in todo:
                    break  # the router's certificate comes last, when the sites trust both CAs
                self.step(step)
                wanted -= {REPLACE_CA: {CA}, REPLACE_SERVER: {SERVER}}.get(step, set())
            before = self.read()
        words = "; ".join(f"{kind}: {why}" for kind, why in todo.items()) or "nothing is due"
        return action.finished(words, todo=todo, stage=rotation_plan.stage(before), before=facts, after=rotation_plan.facts(before))

    def finish(self) -> dict[str, Any]:
        """Replace the router's own certificate, once no site would lose its connection by it; then close old connections if requested."""
        action, params, before = self.action, self.params, self.read()
        facts = {"stage": rotation_plan.stage(before), "after": rotation_plan.facts(before)}
        overlap = facts["stage"] == rotation_plan.OVERLAP
        if action.check or not (overlap or self.revoked):
            return action.finished("nothing to finish", **facts)
        ledger = Ledger(self.cluster, self.namespace, params["federation"])
        # A site that is denied, unless for a time, keeps its link until its certificate is refused, and is waited for as little as one that is revoked.
        denials = access_records.denied(ledger.read_book(), ledger.read_sites()[0])
        denied = {site for site, denial in denials.items() if not denial.get("holder")}
        lagging = rotation_plan.lagging(before, [site for site in params["sites"] if site not in (self.revoked, *denied)], params["reports"])
        known = [(report.get("link") or {}).get("site_uid", "") for report in params["reports"]]
        named = {self._name_of(site) for site in (self.revoked, *denied, *lagging)}
        late = [f"{site}: {why}" for site, why in sorted(lagging.items())]
        late += [f"{name}: its link was created by someone else" for name in rotation_plan.strangers(self.site(), known) if name not in named]
        if late and not params["force"]:
            stays = f", and {self.revoked} stays linked until then" if self.revoked else ""
            words = (
                f"the rotation of the hub's Skupper CA waits, because these sites would lose their connection: {'; '.join(late)}. Resolve this and "
                f"run again: it resumes where it stopped. flower_skupper_force=true continues without them{stays}."
            )
            if not params["warn_only"]:
                raise ClusterError(words)
            action.warn(words)
            return action.finished("it waits", **facts)
        action.warn(*(f"revoked: {word}" for word in late))
        for site in sorted(denied & {*params["sites"]} - {self.revoked}):
            action.warn(f"{site} is denied, so its link ends with the previous CA. When it is admitted, federated.flower.site links it again")
        if overlap:
            self.step(rotation_plan.next_step(before, (), changed_over=True))
        if self.revoked:
            self.cut()
        after = self.read()
        stage = rotation_plan.stage(after)
        return action.finished(f"the hub's Skupper router serves a certificate of the new CA ({stage})", stage=stage, after=rotation_plan.facts(after))

    # ---- what is there -----------------------------------------------------------------------------------------------

    def read(self) -> rotation_plan.Hub:
        """The content of the Secrets."""
        return cluster_state.certificates_of(self.cluster, self.namespace)

    def site(self) -> Mapping[str, Any]:
        """The hub's Site.

        Raises:
            ClusterError: there is none.
        """
        found = site_plan.active(cluster_state.listed(self.cluster, "Site", self.namespace))
        if found is None:
            raise ClusterError(f"there is no Site in namespace {self.namespace} of {self.cluster.name}: run federated.flower.site first.")
        return found

    def _secret(self, name: str) -> Object | None:
        return self.cluster.get("v1", "Secret", name, self.namespace)

    def _given_error(self, name: str) -> str:
        """Why a Secret must be replaced by its owner; empty if Skupper created it."""
        live = self._secret(name)
        if live is None or is_issued(live):
            return ""
        return (
            f"Secret {self.namespace}/{name} on {self.cluster.name} was not created by Skupper but by someone else, and its key would be lost if it was "
            "deleted to be recreated. Its owner must replace its content; federated.flower.skupper_rotate then continues with the sites"
        )

    def _leave_given(self, todo: dict[str, str], choice: str) -> None:
        """What was requested is refused where the hub's Site or a Secret is someone else's; what is only due is a warning."""
        found = self.site()
        theirs: dict[str, list[str]] = {}
        for kind in [kind for kind in (CA, SERVER) if kind in todo]:
            names = [cluster_state.ca_name(found)] if kind == CA and not rotation_plan.is_rotating(self.read()) else []
            why = next(filter(None, map(self._given_error, [*names, SITE_SERVER])), "")
            if not is_ours(found):
                why = (
                    f"{state.named(found)} on {self.cluster.name} was created by someone else, so its CA and the certificate of its router must be "
                    "replaced by their owner: other links may depend on them. Certificates of links that this collection created are renewed by "
                    "federated.flower.site"
                )
            if why and choice != DUE:
                raise ClusterError(f"{why}.")
            if why:
                theirs.setdefault(why, []).append(f"{kind} ({todo.pop(kind)})")
        self.action.warn(*(f"{' and '.join(kinds)}: {why}." for why, kinds in theirs.items()))

    def _name_of(self, host: str) -> str:
        """Name of the Site of a host that this run did not ask: its cluster may be unreachable."""
        known = self.action.task_vars.get("hostvars") or {}
        given = known[host].get("skupper_site_name") if host and host in known else None
        return str(to_json_data(self.action._templar.template(given))) if given else host

    # ---- steps -------------------------------------------------------------------------------------------------------

    def step(self, which: str) -> None:
        """Do one step (see C(rotation_plan.next_step)) and wait for its result."""
        if which == TRUST_BOTH:
            hub = self.read()
            both = link_credentials.bundle(hub.server.get("ca.crt", ""), certificates.first(hub.ca))
            # A mark that a revocation has left would close all connections once more.
            mark = {"metadata": {"annotations": {skupper.PRIOR_REVISIONS: None}}} if self._is_cut() else {}
            self._patch_server({"data": {"ca.crt": encode(both)}, **mark})
        else:
            self._recreate(cluster_state.ca_name(self.site()) if which == REPLACE_CA else SITE_SERVER)

    def _recreate(self, name: str) -> None:
        """Delete a Secret, and wait until Skupper has recreated it with another certificate; that of the router with one of the current CA."""
        live, ca = self._secret(name), self.read().ca if name == SITE_SERVER else ""
        old, which = entries(live).get("tls.crt", ""), f"Secret {self.namespace}/{name} on {self.cluster.name}"
        if live is not None:
            self.action.refuse(self._given_error(name))
            try:
                self.cluster.delete("v1", "Secret", name, self.namespace, uid=live["metadata"]["uid"], propagation="Background")
            except Conflict as error:
                raise ClusterError(f"{which} was recreated by someone else during this run. Run again.") from error
            self.action.note_secret(self.cluster, self.namespace, name, "deleted")
        found: dict[str, str] = {}

        def read_state() -> State:
            nonlocal found
            found = entries(self._secret(name))
            if not found.get("tls.crt") or not found.get("tls.key") or found["tls.crt"] == old:
                return State(False, "Skupper has not recreated it")
            return State(not ca or link_credentials.issued_by(found["tls.crt"], ca), "its certificate is still of the previous CA")

        self.action.wait_for(f"{which} was not recreated", self.params["wait_timeout"], read_state, "Is Skupper's controller running?")
        facts = link_credentials.describe(found["tls.crt"])
        issue = {"change": "issued", "name": name, "serial": facts["serial"], "not_after": facts["not_after"]}
        self.action.note(self.cluster.name, certificates=[issue])

    def cut(self) -> None:
        """Close connections with previous certificates.

        A router keeps connections of some previous revisions of a Secret open. With none to keep, sites with a valid
        certificate connect again at once. The mark stays until the next rotation of the CA: it is not known when Skupper
        has processed it, and if it is removed before that no connection is closed.
        """
        if not self._is_cut():
            self._patch_server({"metadata": {"annotations": {skupper.PRIOR_REVISIONS: _CUT}}})

    def _is_cut(self) -> bool:
        """Whether no previous revision of the router's certificate stays valid, according to its Secret."""
        annotations = ((self._secret(SITE_SERVER) or {}).get("metadata") or {}).get("annotations") or {}
        return bool(annotations.get(skupper.PRIOR_REVISIONS) == _CUT)

    def _patch_server(self, patch: dict[str, Any]) -> None:
        self.cluster.patch("v1", "Secret", SITE_SERVER, self.namespace, patch)
        self.action.note_secret(self.cluster, self.namespace, SITE_SERVER, "changed")

    def deny(self) -> datetime.datetime | None:
        """Deny the site that is revoked in the ledger, so that it is not linked again, and remove the hub's objects for its link.

        Returns:
            Since when the hub has issued nothing for it, by the hub's clock: since its denial. None when there was an object for its link
            until now, or there is no denial.
        """
        site, action, cluster = self.revoked, self.action, self.cluster
        ledger = Ledger(cluster, self.namespace, self.params["federation"], check=action.check)
        objects, records = cluster_state.link_objects(cluster, self.namespace, site), ledger.read_records()
        if site not in self.params["sites"] and not objects and forgetting.unknown_sites([site], records, ledger.read_book()):
            raise ClusterError(
                f"this federation does not have a site {site}, and never had one, so nothing is revoked: the ledger on {cluster.name} has "
                f"{', '.join(sorted(records)) or 'no sites'}. Check flower_site."
            )
        if site in records:
            now = datetime.datetime.now(datetime.timezone.utc).replace(microsecond=0).isoformat()
            if ledger.change_record(site, lambda record: access_records.deny(record, "", now)):
                action.done["changed"] = True
                action.note(cluster.name, words=[f"{site} is denied, because its link is revoked"])
        elif not ledger.read_denial(site):
            action.warn(f"the ledger has no site {site}: it will be linked again if it is in the inventory")
        action.remove(cluster, objects, self.params["wait_timeout"], at_hub=True)
        since = None if objects else moment(ledger.read_denial(site).get("since"))
        return since and since + datetime.timedelta(seconds=cluster.skew or 0)
