# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rotate the certificates of the Skupper network at the hub, one object a step.

A Secret is recreated by deleting it: Skupper then recreates it for its Certificate, within half a minute. That is done with
nothing but Secrets, so no Link, Site or RouterAccess is touched.
"""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Callable, Mapping
from typing import Any

from ..base.errors import ClusterError
from ..base.formats import duration, moment
from ..base.plain_data import to_json_data
from ..base.secret_data import encode, entries
from ..kube.api_errors import Conflict
from ..kube.client import Cluster
from ..manifests import skupper
from ..pki import certificates
from ..skupper import cluster_state, link_credentials, rotation_plan, site_plan, state
from ..skupper.ownership import is_made, is_ours
from ..skupper.state import State
from ..state import access_records, forgetting
from ..state.ledger import Ledger
from .skupper_action import SkupperAction

_CUT = "0"  # prior revisions that stay valid

BEGIN, FINISH = "begin", "finish"


class HubRotation:
    """The hub's part.

    Args:
        action: keeps account of what is done.
        cluster: a connection to the hub.
        namespace: of its Site.
        seconds: how long to wait for one thing.
    """

    def __init__(self, action: SkupperAction, cluster: Cluster, namespace: str, seconds: float) -> None:
        self.action = action
        self.cluster = cluster
        self.namespace = namespace
        self.seconds = seconds

    def site(self) -> Mapping[str, Any]:
        """The hub's Site.

        Raises:
            ClusterError: there is none.
        """
        found = site_plan.active(cluster_state.listed(self.cluster, "Site", self.namespace))
        if found is None:
            raise ClusterError(
                f"there is no Site in namespace {self.namespace} of {self.cluster.name}: run federated.flower.site first."
            )
        return found

    def fault(self, kind: str) -> str:
        """Why something of this kind (C(rotation_plan.CA) or C(SERVER)) must be replaced by its owner; empty if it is Skupper's own."""
        found = self.site()
        if not is_ours(found):
            return (
                f"{state.named(found)} on {self.cluster.name} was created by someone else, so its CA and the certificate of its router must be "
                "replaced by their owner: other links may depend on them. Certificates of links that this collection created are renewed by "
                "federated.flower.site"
            )
        names = [skupper.SITE_SERVER]
        if kind == rotation_plan.CA and rotation_plan.stage(self.read()) not in (rotation_plan.BEGUN, rotation_plan.OVERLAP):
            names.insert(0, cluster_state.ca_name(found))
        secrets = [(name, self.cluster.get("v1", "Secret", name, self.namespace)) for name in names]
        return next((self._given(name) for name, live in secrets if live is not None and not is_made(live)), "")

    def _given(self, name: str) -> str:
        return (
            f"Secret {self.namespace}/{name} on {self.cluster.name} was not created by Skupper but by someone else, and its key would be lost if it was "
            "deleted to be recreated. Its owner must replace its content; federated.flower.skupper_rotate then continues with the sites"
        )

    def read(self) -> rotation_plan.Hub:
        """The content of the Secrets."""
        return cluster_state.read(self.cluster, self.namespace)

    # ---- steps -------------------------------------------------------------------------------------------------------

    def step(self, which: str) -> None:
        """Do one step (see C(rotation.next_step)) and wait for its result."""
        if which == rotation_plan.REPLACE_CA:
            self._anew(cluster_state.ca_name(self.site()), lambda made: "")
        elif which == rotation_plan.TRUST_BOTH:
            self._trust_both()
        elif which == rotation_plan.REPLACE_SERVER:
            ca = self.read().ca

            def fault(made: Mapping[str, str]) -> str:
                return (
                    ""
                    if link_credentials.issued_by(made["tls.crt"], ca)
                    else "its certificate is still of the previous CA"
                )

            self._anew(skupper.SITE_SERVER, fault)

    def _anew(self, name: str, fault: Callable[[Mapping[str, str]], str]) -> None:
        """Delete a Secret, and wait until Skupper has recreated it with another certificate."""
        live = self.cluster.get("v1", "Secret", name, self.namespace)
        old = entries(live).get("tls.crt", "")
        if live is not None:
            if not is_made(live):
                raise ClusterError(f"{self._given(name)}.")
            try:
                self.cluster.delete(
                    "v1", "Secret", name, self.namespace, uid=live["metadata"]["uid"], propagation="Background"
                )
            except Conflict as error:
                raise ClusterError(
                    f"Secret {self.namespace}/{name} on {self.cluster.name} was recreated by someone else during this run. Run again."
                ) from error
            self._note("deleted", name)

        def look() -> State:
            secret = self.cluster.get("v1", "Secret", name, self.namespace)
            made = entries(secret)
            if not made.get("tls.crt") or not made.get("tls.key") or made["tls.crt"] == old:
                return State(False, "Skupper has not recreated it")
            why = fault(made)
            return State(not why, why)

        found = self.action.wait(self.seconds, look)
        if not found.ready:
            raise ClusterError(
                f"Secret {self.namespace}/{name} on {self.cluster.name} was not recreated after {self.seconds:g} s: {found.why}. Is "
                "Skupper's controller running?"
            )
        made = entries(self.cluster.get("v1", "Secret", name, self.namespace))
        told = link_credentials.describe(made["tls.crt"])
        self.action.note(
            self.cluster.name,
            certificates=[{"change": "issued", "name": name, "serial": told["serial"], "not_after": told["not_after"]}],
        )

    def _trust_both(self) -> None:
        """Have the hub's router trust the new CA in addition to the old one. Skupper does not check this entry again."""
        hub = self.read()
        both = link_credentials.bundle(hub.server.get("ca.crt", ""), certificates.first(hub.ca))
        patch: dict[str, Any] = {"data": {"ca.crt": encode(both)}}
        if self._prior_revisions() == _CUT:
            # Left by a revocation. With it, this change would close all connections once more.
            patch["metadata"] = {"annotations": {skupper.PRIOR_REVISIONS: None}}
        self.cluster.patch("v1", "Secret", skupper.SITE_SERVER, self.namespace, patch)
        self._note("changed", skupper.SITE_SERVER)

    # ---- cutting connections -----------------------------------------------------------------------------------------

    def cut(self) -> bool:
        """Close connections with previous certificates; returns whether it was needed.

        A router keeps connections of some previous revisions of a Secret open. With none to keep, sites with a valid
        certificate connect again at once. The mark stays until the next rotation of the CA: it is not known when Skupper
        has processed it, and if it is removed before that no connection is closed.
        """
        if self._prior_revisions() == _CUT:
            return False
        patch = {"metadata": {"annotations": {skupper.PRIOR_REVISIONS: _CUT}}}
        self.cluster.patch("v1", "Secret", skupper.SITE_SERVER, self.namespace, patch)
        self._note("changed", skupper.SITE_SERVER)
        return True

    def _prior_revisions(self) -> str | None:
        """How many previous revisions of the router's certificate stay valid, according to its Secret."""
        live = self.cluster.get("v1", "Secret", skupper.SITE_SERVER, self.namespace) or {}
        return ((live.get("metadata") or {}).get("annotations") or {}).get(skupper.PRIOR_REVISIONS)

    def _note(self, change: str, name: str) -> None:
        self.action.done["changed"] = True
        entry = {"apiVersion": "v1", "kind": "Secret", "namespace": self.namespace, "name": name, "change": change}
        self.action.done["hub_objects"].append(entry)
        if not self.action.check:
            self.action.note(
                self.cluster.name, objects=[{"change": change, "object": f"Secret {self.namespace}/{name}"}]
            )


class RotationAction(SkupperAction):
    """An action that rotates the certificates of the network at the hub."""

    def rotate(self, params: dict[str, Any]) -> dict[str, Any]:
        """Begin a rotation, or finish it after the sites have their new certificates.

        Args:
            params: options of M(federated.flower.skupper_link).
        """
        with self.reach(params["hub"]) as cluster:
            hub = HubRotation(self, cluster, params["hub_namespace"], params["wait_timeout"])
            return self._begin(cluster, hub, params) if params["step"] == BEGIN else self._finish(hub, params)

    def _begin(self, cluster: Cluster, hub: HubRotation, params: dict[str, Any]) -> dict[str, Any]:
        now = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=cluster.skew or 0)
        before = hub.read()
        choice = rotation_plan.CA if params["revoke"] else params["rotate"]
        looked_after = {site: pem for site, pem in before.links.items() if site in params["sites"]}
        known = dataclasses.replace(before, links=looked_after)
        todo = rotation_plan.todo(choice, known, now, duration(params["renew_before"]))
        if set(todo) & {rotation_plan.CA, rotation_plan.SERVER}:
            self._leave_given(hub, todo, choice)
            if choice != rotation_plan.DUE and rotation_plan.stage(before) == rotation_plan.NONE:
                raise ClusterError(
                    f"the Secret of the CA or {skupper.SITE_SERVER} is not in namespace {params['hub_namespace']} of {cluster.name}, so nothing "
                    "can be rotated or revoked. Skupper recreates them within half a minute: is its controller running? Then run again."
                )
        since = None
        if params["revoke"]:
            todo[rotation_plan.CA] = f"the link of {params['revoke']} is revoked"
            since = self._take_back(cluster, params)
        facts = rotation_plan.facts(before)
        if self.check or not todo:
            self.done["changed"] |= bool(todo)
            return self._result(todo, facts, before)
        first = rotation_plan.first_of_revocation(hub.read(), since) if params["revoke"] else ""
        if first:
            hub.step(first)
        done: set[str] = set()
        while True:
            seen = hub.read()
            step = rotation_plan.next_step(seen, set(todo) - done, changed_over=False)
            # The router's certificate comes last, when the sites trust both CAs.
            if not step or (step == rotation_plan.REPLACE_SERVER and rotation_plan.CA in todo):
                break
            hub.step(step)
            done |= {
                rotation_plan.REPLACE_CA: {rotation_plan.CA},
                rotation_plan.REPLACE_SERVER: {rotation_plan.SERVER},
            }.get(step, set())
        return self._result(todo, facts, hub.read())

    def _leave_given(self, hub: HubRotation, todo: dict[str, str], choice: str) -> None:
        """What was requested is refused where the hub's Site or a Secret is someone else's; what is only due is a warning."""
        theirs: dict[str, list[str]] = {}
        for kind in [kind for kind in (rotation_plan.CA, rotation_plan.SERVER) if kind in todo]:
            why = hub.fault(kind)
            if why and choice != rotation_plan.DUE:
                raise ClusterError(f"{why}.")
            if why:
                theirs.setdefault(why, []).append(f"{kind} ({todo.pop(kind)})")
        self.warn(*(f"{' and '.join(kinds)}: {why}." for why, kinds in theirs.items()))

    def _take_back(self, cluster: Cluster, params: dict[str, Any]) -> datetime.datetime | None:
        """Deny the site in the ledger, so that it is not linked again, and remove the hub's objects for its link.

        Returns:
            Since when the hub has issued nothing for it, by the hub's clock: since its denial. None when there was an object for its link
            until now, or there is no denial.
        """
        site = params["revoke"]
        ledger = Ledger(cluster, params["hub_namespace"], params["federation"], check=self.check)
        now = datetime.datetime.now(datetime.timezone.utc).replace(microsecond=0).isoformat()
        going = []
        for kind, name in (
            ("AccessGrant", skupper.grant_name(site)),
            ("Certificate", skupper.certificate_name(site)),
        ):
            live = self.read(cluster, kind, name, params["hub_namespace"])
            if live is not None and is_ours(live):
                going.append(live)
        records = ledger.read_records()
        if site not in params["sites"] and not going and forgetting.unknown([site], records, ledger.read_book()):
            raise ClusterError(
                f"this federation does not have a site {site}, and never had one, so nothing is revoked: the ledger on {cluster.name} has "
                f"{', '.join(sorted(records)) or 'no sites'}. Is the name right (flower_site)?"
            )
        if site in records:
            if ledger.change_record(site, lambda record: access_records.deny(record, "", now)):
                self.done["changed"] = True
                self.note(cluster.name, words=[f"{site} is denied, because its link is revoked"])
        elif not ledger.read_denial(site):
            self.warn(f"the ledger has no site {site}: it will be linked again if it is in the inventory")
        self.remove(cluster, going, params["wait_timeout"], at_hub=True)
        since = None if going else moment(ledger.read_denial(site).get("since"))
        return since and since + datetime.timedelta(seconds=cluster.skew or 0)

    def _result(self, todo: dict[str, str], before: list[dict[str, Any]], now: rotation_plan.Hub) -> dict[str, Any]:
        words = "; ".join(f"{kind}: {why}" for kind, why in todo.items()) or "nothing is due"
        return self.finished(
            words, todo=todo, stage=rotation_plan.stage(now), before=before, after=rotation_plan.facts(now)
        )

    def _finish(self, hub: HubRotation, params: dict[str, Any]) -> dict[str, Any]:
        """Replace the router's own certificate, once no site would lose its connection by it; then close old connections if requested."""
        before = hub.read()
        open_end = rotation_plan.stage(before) == rotation_plan.OVERLAP
        if self.check or not (open_end or params["revoke"]):
            return self.finished(
                "nothing to finish", stage=rotation_plan.stage(before), after=rotation_plan.facts(before)
            )
        ledger = Ledger(hub.cluster, params["hub_namespace"], params["federation"])
        denials = access_records.denied(ledger.read_book(), ledger.read_sites()[0])
        lagging = rotation_plan.lagging(before, params["sites"], params["reports"], params["revoke"], denials)
        known = [(report.get("link") or {}).get("site_uid", "") for report in params["reports"]]
        foreign = rotation_plan.strangers(hub.site(), known)
        # A site that is denied keeps its link until its certificate is refused, and is waited for as little as one that is revoked.
        excused = [site for site, denial in denials.items() if not denial.get("holder")]
        reported = {self._name_of(site) for site in (params["revoke"], *excused, *lagging)}
        foreign = [name for name in foreign if name not in reported]
        held = [f"{site}: {why}" for site, why in sorted(lagging.items())]
        held += [f"{name}: its link was created by someone else" for name in foreign]
        if held and not params["force"]:
            words = (
                "the rotation of the hub's Skupper CA waits, because these sites would lose their connection: "
                f"{'; '.join(held)}. Resolve this and run again: "
                "it resumes where it stopped. flower_skupper_force=true continues without them"
                + (f", and {params['revoke']} stays linked until then." if params["revoke"] else ".")
            )
            if not params["warn_only"]:
                raise ClusterError(words)
            self.warn(words)
            return self.finished("it waits", stage=rotation_plan.stage(before), after=rotation_plan.facts(before))
        for word in held:
            self.warn(f"revoked: {word}")
        for site in sorted({*excused} & {*params["sites"]} - {params["revoke"]}):
            self.warn(f"{site} is denied, so its link ends with the previous CA. When it is admitted, federated.flower.site links it again")
        if open_end:
            hub.step(rotation_plan.next_step(before, (), changed_over=True))
        if params["revoke"]:
            hub.cut()
        after = hub.read()
        return self.finished(
            f"the hub's Skupper router serves a certificate of the new CA ({rotation_plan.stage(after)})",
            stage=rotation_plan.stage(after),
            after=rotation_plan.facts(after),
        )

    def _name_of(self, host: str) -> str:
        """Name of the Site of a host that this run did not ask: its cluster may be unreachable."""
        known = self.task_vars.get("hostvars") or {}
        given = known[host].get("skupper_site_name") if host and host in known else None
        return str(to_json_data(self._templar.template(given))) if given else host
