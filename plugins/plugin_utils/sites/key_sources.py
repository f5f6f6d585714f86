# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keys of a site's pools, created on the control node or by a job in the site's cluster, and the credentials for its HTTP proxy."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from ...module_utils.node_config import MAX_REPLICAS
from ..apply import applyset
from ..apply.engine import apply_objects
from ..base.addresses import SUBDOMAIN
from ..base.certificate_names import listener_certificate_name
from ..base.errors import ClusterError
from ..base.foreign_data import cleaned
from ..base.names import CLIENTAPP, CONTROLLER, PUBLIC_KEYS, SITE, keys_secret
from ..base.object_names import PROXY_MARK, PROXY_SECRET, SUPERNODE
from ..base.secret_data import CREDENTIALS, entries, secret
from ..base.values import text
from ..kube import nodes
from ..kube.api_errors import Conflict
from ..kube.client import Cluster
from ..manifests import site_jobs
from ..marks import owners, proof
from ..pki import keypairs
from ..pki.unknown_kinds import explained
from ..rotation import clocks, secrets_rotation, site_proof
from ..site_keys import job, keys, site_keygen
from ..spec.site_spec import PASSWORD, USERNAME, SiteSpec
from ..state.audit_notes import of_objects
from . import namespace_inspection
from .site import KeyResult, Run, Site

Ready = dict[str, set[str]]

_LONGEST = 253  # characters of a node's name


def wanted(
    site: str,
    spec: SiteSpec,
    allocation: Mapping[str, Any],
    dead: Sequence[str],
    list_nodes: Callable[[], list[dict[str, Any]]],
    running_on: Callable[[str], Collection[str]] = lambda pool: (),
) -> tuple[keys.Wanted, Ready]:
    """What a site must have, and pool -> names of the keys that a pod is expected to run with.

    Args:
        site: inventory name, which is the name in its client certificate.
        allocation: pool -> C(offset), from the ledger.
        dead: fingerprints of keys that Flower takes no more.
        list_nodes: gives the site's nodes; called for each DaemonSet pool.
        running_on: gives names of the nodes on which a pool has a pod.

    Raises:
        ClusterError: the nodes of DaemonSet pools are more than a site may have SuperNodes, or a node has an invalid name.
    """
    pools: list[keys.Pool] = []
    ready: Ready = {}
    for pool in spec.pools if not spec.insecure else ():  # without TLS Flower has no node authentication, so a lab without it has no keys
        if pool.is_daemon:
            found, rules = list_nodes(), (pool.node_selector, pool.tolerations, pool.affinity)
            chosen = nodes.eligible(found, *rules, running_on(pool.name) if nodes.closed(found, *rules) else ())
            pools.append(keys.Pool(pool.name, _node_names(pool.name, chosen)))
            ready[pool.name] = {node["metadata"]["name"] for node in chosen if nodes.is_ready(node)}
        else:
            offset = int(allocation.get(pool.name, {}).get("offset", 0))
            names = [str(offset + number) for number in range(pool.replicas)]
            pools.append(keys.Pool(pool.name, names, offset))
            ready[pool.name] = set(names)
    total = sum(len(pool.names) for pool in pools)
    if total > MAX_REPLICAS:  # of pools with replicas alone, variables say so before
        raise ClusterError(
            f"its pools would have {total} SuperNodes, one on each node of a DaemonSet pool; a site has at most {MAX_REPLICAS}. Choose fewer nodes "
            "(node_selector, tolerations or affinity of the pool), or make more than one site of it."
        )
    listener = listener_certificate_name(spec.namespace) if spec.has_separate_clientapps else ""
    return keys.Wanted(pools, dead, site if spec.shows_certificate else "", listener), ready


def _node_names(pool: str, chosen: Sequence[Mapping[str, Any]]) -> list[str]:
    """Names of nodes, which become names of keys and of files. They are refused if they are not such as Kubernetes permits."""
    names = [node["metadata"]["name"] for node in chosen]
    for name in names:
        if not isinstance(name, str) or len(name) > _LONGEST or not SUBDOMAIN.fullmatch(name):
            raise ClusterError(
                f"pool {pool}: its API server lists a node whose name is not a DNS name of lower case letters, digits, - and .: {cleaned(repr(name), 100)}. "
                "No keys are created. Check that this is the API server of a Kubernetes cluster, and the path to it."
            )
    return names


def away(spec: SiteSpec, found: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """DaemonSet pool -> names of its nodes that are not ready; pools without such nodes are not in it."""
    result = {}
    for pool in spec.pools:
        chosen = nodes.eligible(found, pool.node_selector, pool.tolerations, pool.affinity) if pool.is_daemon else []
        if names := [node["metadata"]["name"] for node in chosen if not nodes.is_ready(node)]:
            result[pool.name] = names
    return result


def note_secrets(run: Run, site: Site, changes: Mapping[str, str]) -> bool:
    """Record the changes of Secrets (name -> change); returns whether any of them changed."""
    listed = [
        {"kind": "Secret", "namespace": site.namespace, "name": name, "change": change}
        for name, change in changes.items()
    ]
    written = of_objects(listed)
    run.note(site.name, objects=written)
    return bool(written)


def refuse_others(cluster: Cluster, site: Site) -> None:
    """Called before keys are written: the preflight check may have been left out, and the objects come later.

    Raises:
        ClusterError: the namespace has the SuperNodes of another hub or site.
    """
    if site.claim:
        return
    parent = cluster.get("v1", "ConfigMap", applyset.parent_name(SUPERNODE), site.namespace)
    why = owners.other_deployment_error(parent, owners.deployment_notes(site.federation, site.name, site.identity))
    if why:
        raise ClusterError(f"{cluster.name}: {why}")


def outdated(cluster: Cluster, site: Site, replaced: Mapping[str, str]) -> list[str]:
    """Names of the shared Secrets that a pod of the site is older than.

    Args:
        replaced: shared Secret that took the place of another -> when, by the site's API server. Without any, nothing is read.
    """
    if not replaced:
        return []
    pods = cluster.list("v1", "Pod", site.namespace, labels=proof.pods_query(site.federation, SUPERNODE, CLIENTAPP))
    oldest = min((str(pod["metadata"]["creationTimestamp"]) for pod in pods), default="")
    return [name for name, at in sorted(replaced.items()) if oldest and at > oldest]


def proxy_credentials(spec: SiteSpec, given: Mapping[str, Any]) -> dict[str, str]:
    """The entries of the Secret; none without credentials in variables.

    Args:
        given: C(username) and C(password), without faults (C(checks/site_rules.py)).
    """
    if not spec.has_proxy or not spec.http_proxy_credentials:
        return {}
    return {name: text(given.get(name)) for name in (USERNAME, PASSWORD)}


def proxy_secret(
    spec: SiteSpec, values: Mapping[str, str], live: Mapping[str, Any] | None
) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """The Secret to write, if any; and name -> uid of the Secrets of this federation that pods do not need once the site's objects are applied.

    Args:
        values: of C(proxy_credentials).

    Raises:
        ClusterError: it is someone else's.
    """
    if not values:
        # Unless it is someone else's, or the user names it: pods go on using it then.
        named = spec.has_proxy and spec.http_proxy.secret == PROXY_SECRET
        if live is None or named or not proof.may_delete(live, spec.federation):
            return [], {}
        return [], {PROXY_SECRET: str(live["metadata"]["uid"])}
    if live is not None and not proof.belongs(live, spec.federation):
        raise ClusterError(
            f"Secret {spec.namespace}/{PROXY_SECRET} exists already and {proof.holder(live)}: it is not changed. Name it in supernode_http_proxy.secret, "
            "or delete or rename it."
        )
    data = entries(live)
    if data.pop(PROXY_MARK, "") and data == dict(values):
        return [], {}
    data = {**values, PROXY_MARK: secrets.token_hex(8)}
    return [secret(spec.federation, spec.namespace, PROXY_SECRET, data, application="supernode")], {}


class AtController:
    """Keys that the control node creates and writes into the site's Secrets."""

    def __init__(self, run: Run, site: Site, cluster: Cluster) -> None:
        self.run, self.site, self.cluster = run, site, cluster

    def make(self, wanted: keys.Wanted) -> tuple[keys.SiteKeys, KeyResult]:
        """Create what is missing.

        Raises:
            ClusterError: among others, a certificate is missing, and the clock of the control node is ahead of that of the site.
        """
        spec, check = self.site.spec, self.run.check
        selector = f"app.kubernetes.io/component in ({CREDENTIALS},{keys.KEYS_COMPONENT})"
        listed = self.cluster.list("v1", "Secret", spec.namespace, labels=selector)
        # Keys of another federation would count as keys of a pool that is gone; where a name is needed, they are refused when it is written.
        own = [item for item in listed if not proof.is_managed(item) or proof.belongs(item, self.site.federation)]
        live = {item["metadata"]["name"]: item for item in own}
        due = outdated(self.cluster, self.site, {name: at for name in keys.SHARED if (at := keys.replaced_at(live.get(name)))})
        places = f"one of the Secrets {cleaned(', '.join(sorted(live)), 500)} in namespace {spec.namespace} of {self.cluster.name}"
        with explained(places, "restore that one, or delete only it and run again: it is recreated, with new keys if it had any. Keep the others."):
            plan = keys.plan(
                spec.federation, spec.namespace, wanted.pools, live, wanted.dead, wanted.client, listener=wanted.listener
            )
        credentials = proxy_credentials(spec, self.site.given.get("http_proxy_credentials") or {})
        there = live.get(PROXY_SECRET)
        if credentials and there is None:  # it may be someone else's, without the labels of the others
            there = self.cluster.get("v1", "Secret", PROXY_SECRET, spec.namespace)
        login, obsolete = proxy_secret(spec, credentials, there)
        plan.secrets += login
        plan.reasons += [f"{PROXY_SECRET}: the credentials for the HTTP proxy changed" for _one in login]
        space = []
        if any(item["metadata"]["name"] == keys.LOCAL_TLS for item in plan.secrets):
            clocks.require_clock(self.cluster)
        if plan.secrets:
            refuse_others(self.cluster, self.site)
            space = namespace_inspection.missing_namespace(self.cluster, spec)
        outcome = apply_objects(self.cluster, [*space, *plan.secrets], check=check)
        objects = outcome.objects
        if any(keys.source_of(there) == SITE for there in live.values()):
            # What the site reported about its keys, and the owner of those that are no longer wanted.
            ended = [
                {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": spec.namespace}}
                for name in (PUBLIC_KEYS, site_jobs.OWNER)
            ]
            objects = objects + apply_objects(self.cluster, ended, state="absent", check=check).objects
        written = {secret["metadata"]["name"] for secret in plan.secrets} if any(map(keys.pool_of, live.values())) else ()
        return plan, KeyResult(
            changed=outcome.changed,
            diff=outcome.diff,
            objects=objects,
            renewed=[name for name in keys.SHARED if name in written],
            due=due,
            login=entries(login[0])[PROXY_MARK] if login else "",
            obsolete=obsolete,
        )

    def drop(self, extra: Mapping[str, Sequence[str]]) -> None:
        """Delete keys: pool -> names. A Secret without keys is deleted."""
        for pool, names in extra.items():
            name = keys_secret(pool)
            secret = self.cluster.get("v1", "Secret", name, self.site.namespace)
            if secret is None:
                continue
            what = f"Secret {self.site.namespace}/{name} on {self.cluster.name}"
            data, meta = keys.without_extra(secret, names), secret["metadata"]
            if not (proof.belongs if data else proof.may_delete)(secret, self.site.federation):
                raise ClusterError(
                    f"{what} was not created by this collection for the federation {self.site.federation}: its keys that are not needed any "
                    f"more ({', '.join(names)}) are not deleted. Delete or rename it manually."
                )
            try:
                if data:
                    self.cluster.replace({**secret, "data": data})
                else:
                    self.cluster.delete("v1", "Secret", name, self.site.namespace, uid=meta["uid"], version=meta["resourceVersion"])
            except Conflict as error:
                raise ClusterError(
                    f"{what} was changed by another run in the meantime. Run again when that is complete."
                ) from error
            note_secrets(self.run, self.site, {name: "changed" if data else "deleted"})

    def renew(self, mark: str) -> bool:
        """Recreate the shared secrets without the mark; returns whether one was."""
        renewed = {keys.SUPEREXEC: {"secret": keypairs.make_secret()}}
        written = secrets_rotation.renew_site(self.cluster, self.site.federation, self.site.namespace, mark, renewed)
        self.run.note(self.site.name, objects=written)
        return bool(written)

    def digests(self, name: str) -> Mapping[str, str]:
        """Entry -> digest of a Secret."""
        data = entries(self.cluster.get("v1", "Secret", name, self.site.namespace))
        return {entry: site_proof.file_digest(value) for entry, value in data.items()}


class AtSite:
    """Keys that a job in the site's cluster creates, and that never leave it. Its methods are those of C(AtController)."""

    def __init__(self, run: Run, site: Site, cluster: Cluster, place: site_keygen.Place | None = None) -> None:
        self.run, self.site, self.cluster = run, site, cluster
        self.place = place or job.AtSite(cluster, site.spec)

    def make(self, wanted: keys.Wanted) -> tuple[keys.SiteKeys, KeyResult]:
        """Create what is missing."""
        spec = self.site.spec
        prepared: list[dict[str, str]] = []

        def prepare() -> None:
            refuse_others(self.cluster, self.site)
            needed = [*namespace_inspection.missing_namespace(self.cluster, spec), site_jobs.owner(spec)]
            prepared.extend(apply_objects(self.cluster, needed).objects)

        outcome = site_keygen.make(self.place, spec, wanted, self.site.seconds, prepare, check=self.run.check)
        before = outcome.before
        written = site_keygen.changes(before, outcome.after or before) if before.pools else {}
        return outcome.found, KeyResult(
            due=outdated(self.cluster, self.site, before.replaced),
            renewed=[name for name in keys.SHARED if written.get(name) in ("created", "changed")],
            changed=bool(outcome.found.reasons),
            diff=outcome.diff(self.site.namespace) if self.run.show_diff else [],
            objects=prepared + outcome.objects(self.site.namespace),
        )

    def drop(self, extra: Mapping[str, Sequence[str]]) -> None:
        """Delete keys: pool -> names."""
        note_secrets(self.run, self.site, site_keygen.drop(self.place, self.site.spec, extra, self.site.seconds))

    def renew(self, mark: str) -> bool:
        """Recreate the shared secrets without the mark; returns whether one was."""
        became = site_keygen.renew(self.place, self.site.spec, [keys.SUPEREXEC], mark, self.site.seconds)
        return note_secrets(self.run, self.site, became)

    def digests(self, name: str) -> Mapping[str, str]:
        """Entry -> digest of a Secret. Only the digests are visible of the Secrets that a site creates itself."""
        return job.read(self.cluster, self.site.namespace).digests.get(name, {})


SOURCES: dict[str, type[AtController] | type[AtSite]] = {CONTROLLER: AtController, SITE: AtSite}


def key_result(found: keys.SiteKeys, outcome: KeyResult, ready: Mapping[str, set[str]]) -> KeyResult:
    """The outcome with what was found: keys, extra ones and the certificate request."""
    outcome.keys = [{**key, "expected": key["name"] in ready[key["pool"]]} for key in found.keys]
    outcome.extra = found.extra
    outcome.client_request = found.client_request
    outcome.msg = "; ".join(found.reasons) or f"{len(found.keys)} keys, all there"
    return outcome
