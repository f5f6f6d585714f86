# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The texts of a bundle for people: join passport, changes, images, what to delete. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..base.names import PUBLIC_KEYS
from ..base.values import Object
from ..manifests import site_jobs
from ..manifests.gitops import manifest
from .bundle_draft import STAYING, Draft, is_program, numbered, secrets_of

_WHAT_FOR = {
    "Namespace": "the place of everything below",
    "NetworkPolicy": "closes the pods' network, but for what is listed below",
    "ServiceAccount": "an identity of pods; gives them no token",
    "Role": "what the job with the keys may do, and no one else",
    "RoleBinding": "gives the job that Role",
    "ConfigMap": "settings and certificates, nothing secret",
    "Job": "makes the site's private keys, once",
    "Service": "names of pods inside the cluster",
    "StatefulSet": "the SuperNodes, or the apps that compute for them",
    "PersistentVolumeClaim": "room for a dataset",
    "PersistentVolume": "where a dataset is",
    "PodDisruptionBudget": "keeps drains of nodes from stopping all at once",
}
_OF = " in the federation "
_LINES = 400  # of a difference; no one reads more
Row = Sequence[str]


def ident(one: Mapping[str, Any]) -> tuple[str, str, str]:
    """Kind, namespace and name."""
    return one["kind"], one["metadata"].get("namespace") or "", one["metadata"]["name"]


def place(one: Mapping[str, Any]) -> str:
    """An object for people."""
    kind, namespace, name = ident(one)
    return f"{kind} {namespace}/{name}" if namespace else f"{kind} {name}"


def title(draft: Draft, version: int) -> str:
    """The first line of everything."""
    return f"bundle version {version} of site {draft.facts['site']}{_OF}{draft.facts['federation']}"


def federation_of(title: str) -> str:
    """The federation in such a line; empty where there is none."""
    return title.strip().partition(_OF)[2]


def passport(draft: Draft, version: int, written: str, signer: str, trust: str) -> str:
    """PASSPORT.md: what a site's administrators want to know before they apply anything.

    Args:
        written: when, ISO 8601.
        signer: fingerprint of the hub's CA, which signs the bundle.
        trust: SHA-256 of the CA bundle that SuperNodes trust.
    """
    objects, facts = numbered(draft, version, ""), draft.facts
    space = facts["namespace"]
    created = [(place(one), _WHAT_FOR.get(one["kind"], "see its file")) for one in objects]
    by_job = [(f"Secret {space}/{name}", "a private key or secret, made in your cluster") for name in secrets_of(draft)]
    by_job.append((f"ConfigMap {space}/{PUBLIC_KEYS}", "the public keys: what you send back"))
    own = "" if facts.get("makes_namespace") else f"The namespace {space} is yours: it must exist, and is neither changed nor deleted.\n\n"
    programs = "\n".join(f"- `{name}`" for name in images(objects))
    if any(draft.serving.values()):
        last = "\nThe SuperNodes of this version have the keys that the hub knows. They connect by themselves."
    else:
        last = "5. The operator sends the next version. It has the site's certificate and starts the SuperNodes; this version starts none."
    return f"""\
# Join passport: {facts["site"]}

This is {title(draft, version)}, written on {written} by the operator of the hub with federated.flower.
It runs SuperNodes of [Flower](https://flower.ai) in your cluster: they fetch apps and models from the hub, train on data that stays with you,
and return what the apps return. No one outside gets access to your cluster, and nothing outside connects to it.

## Check it first

Take the commands for it from the documentation of federated.flower ("Sites that give no access: bundles"), not from a file of this bundle:
someone who exchanges the bundle exchanges this text and verify.sh as well. They compare the fingerprint of hub-ca.crt with the one that the
operator of the hub reads to you, by telephone or in person, then the signature of SHA256SUMS, then all files. They run nothing of this bundle.

For the operator of the hub, who has the same from the hub itself:

    CA of the hub         {signer}
    CA bundle in use      SHA-256 {trust}

## What it creates

{_table(("object", "what for"), created)}

The job creates, in the same namespace, and nothing that is secret leaves it:

{_table(("object", "what for"), by_job)}

{own}Before the first time, see that none of them exists: `kubectl get -k . --ignore-not-found`. `kubectl apply` would change what others made.

## Which rights it gets

{_rights(objects)}

SuperNodes and apps have no token of your API server. No object reaches beyond its namespace but those in the table without one.

## What it may connect to

{_connections(draft, objects)}

Nothing connects to these pods from outside of the cluster. NetworkPolicies are enforced by your cluster's network plugin, if it can.

## Which programs run

{programs}

See IMAGES.md for mirrors. The job runs a program of the bundle, which is in program/ to read, in the image of the SuperNodes.

## What leaves the site

- once for each version that asks for it, by your hands: public keys, a certificate request, the SHA-256 of each secret (not the secret),
  and the SHA-256 of the CA bundle;
- while it runs, over TLS to the hub: what apps return, such as model parameters and metrics, and signs of life.

## What to do

1. `kubectl apply -k .` in this folder, or let Argo CD or Flux do it (layouts/).
2. `kubectl wait --for=condition=complete job/{site_jobs.NAME}-v{version} -n {space} --timeout=300s`
3. `kubectl get configmap {PUBLIC_KEYS} -n {space} -o json > reply.json`, and send reply.json to the operator of the hub. It holds nothing secret.
4. Read this fingerprint to the operator of the hub: `kubectl get configmap {PUBLIC_KEYS} -n {space} -o jsonpath='{{.data.fingerprint}}'`
{last}

CHANGES.md says what is new in this version, UNINSTALL.md how to remove everything.
"""


def _table(head: Row, rows: Iterable[Row]) -> str:
    return "\n".join([f"| {' | '.join(head)} |", f"|{'---|' * len(head)}", *(f"| {' | '.join(row)} |" for row in rows)])


def _rights(objects: Iterable[Object]) -> str:
    found = []
    for one in objects:
        for rule in one.get("rules") or [] if one["kind"] in ("Role", "ClusterRole") else []:
            names = ", ".join(rule.get("resourceNames") or ["all"])
            found.append(f"- {place(one)}: {', '.join(rule['verbs'])} {', '.join(rule['resources'])} named {names}")
    return "\n".join(found) or "None."


def _connections(draft: Draft, objects: Iterable[Object]) -> str:
    lines = [f"- SuperNodes: to the hub, {draft.facts['address']} (TCP, TLS with certificates on both sides), and to your DNS"]
    for one in objects:
        spec = one.get("spec") or {}
        if one["kind"] == "NetworkPolicy" and "Egress" in spec.get("policyTypes", ()):
            rules = [f"{_ports(rule)} of {_peers(rule)}" for rule in spec.get("egress") or []]
            lines.append(f"- {place(one)} allows: {'; '.join(rules) or 'nothing'}")
    if len(lines) == 1:
        lines.append("- no NetworkPolicy is part of this bundle: what pods may reach is up to your cluster")
    return "\n".join(lines)


def _ports(rule: Mapping[str, Any]) -> str:
    found = [
        f"{port.get('protocol', 'TCP')} {port.get('port', 'all')}" + (f"-{port['endPort']}" if port.get("endPort") else "")
        for port in rule.get("ports") or []
    ]
    return ", ".join(found) or "all ports"


def _peers(rule: Mapping[str, Any]) -> str:
    found = []
    for peer in rule.get("to") or []:
        words = [
            f"{word} {', '.join(f'{key}={value}' for key, value in (peer[part].get('matchLabels') or {}).items()) or 'any'}"
            for part, word in (("namespaceSelector", "namespace"), ("podSelector", "pods"))
            if part in peer
        ]
        found.append(str(peer["ipBlock"]["cidr"]) if peer.get("ipBlock") else " ".join(words))
    return ", ".join(found) or "any address"


def images(objects: Iterable[Mapping[str, Any]]) -> list[str]:
    """All images of the objects' containers, each once."""
    found = set()
    for one in objects:
        pod = ((one.get("spec") or {}).get("template") or {}).get("spec") or {}
        found |= {str(c["image"]) for part in ("initContainers", "containers") for c in pod.get(part) or []}
    return sorted(found)


def split_image(name: str) -> tuple[str, str, str]:
    """Name, tag and digest of an image; the last two may be empty."""
    rest, _at, digest = name.partition("@")
    base, colon, tag = rest.rpartition(":")
    if not colon or "/" in tag:
        base, tag = rest, ""
    return base, tag, digest


def image_guide(names: Sequence[str]) -> str:
    """IMAGES.md: what to copy for a cluster without a way to the registry."""
    rows = [(f"`{base}`", tag or "-", f"`{digest}`" if digest else "none given") for base, tag, digest in map(split_image, names)]
    warning = ""
    if not all(split_image(name)[2] for name in names):
        warning = """\
An image without a digest is what the registry has under that tag when it is pulled. Ask the operator of the hub for digests
(`supernode_image: name@sha256:...` and its like in the inventory), or pin what you copied in your mirror.

"""
    return f"""\
# Images

{_table(("image", "tag", "digest"), rows)}

{warning}## Without a way to the registry

1. Copy each line of images.txt into a registry of yours, for example with `skopeo copy --all docker://IMAGE docker://registry.internal/IMAGE`.
2. Put your registry into layouts/mirror/kustomization.yaml, copy that folder to a place beside this one, and apply it instead of this folder.
   The bundle stays as it is signed, and the map survives new versions.

Or map the names in the settings of your nodes (mirrors of containerd or CRI-O, ImageDigestMirrorSet of OpenShift); then nothing else changes.
"""


def uninstall(draft: Draft, version: int) -> str:
    """UNINSTALL.md."""
    facts, objects = draft.facts, numbered(draft, version, "")
    space = facts["namespace"]
    removed = "\n".join(f"    {_delete(one)}" for one in reversed(objects) if one["kind"] not in STAYING)
    keys = "".join(f"    kubectl delete secret {name} -n {space} --ignore-not-found\n" for name in secrets_of(draft))
    volumes = "".join(f"    {_delete(one)}\n" for one in objects if one["kind"] in STAYING and one["kind"] != "Namespace")
    data = f"## Data: think first\n\n{volumes}\n" if volumes else ""
    last = f"The namespace {space} is yours and stays."
    if facts.get("makes_namespace"):
        last = f"""\
## The namespace

Last, and only if nothing of yours is in it (`kubectl get all,configmaps,secrets,persistentvolumeclaims -n {space}`):

    kubectl delete namespace {space}"""
    return f"""\
# How to remove {facts["site"]} from this cluster

Of {title(draft, version)}. uninstall.txt has the same list for programs. Tell the operator of the hub: at the hub the site leaves with
`ansible-playbook federated.flower.teardown --limit {facts["site"]} -e flower_teardown=true`.

Where Argo CD or Flux applies this bundle, delete its Application or Kustomization first: it would create again what you delete. It keeps the
namespace and what holds data.

## Workloads, rights, settings and keys

{removed}
    kubectl delete configmap {PUBLIC_KEYS} -n {space} --ignore-not-found
{keys}    kubectl delete job -l app.kubernetes.io/name={site_jobs.KEY_APPLICATION},app.kubernetes.io/instance={facts["federation"]} -n {space}

The Secrets belong to ConfigMap {site_jobs.OWNER}: Kubernetes deletes them with it, too.

{data}{last}
"""


def uninstall_list(draft: Draft, version: int) -> str:
    """uninstall.txt: kind, namespace and name of everything, what is applied and what the job makes."""
    space = draft.facts["namespace"]
    rows = [*(ident(one) for one in numbered(draft, version, "")), ("ConfigMap", space, PUBLIC_KEYS)]
    rows += [("Secret", space, name) for name in secrets_of(draft)]
    return "".join(f"{kind} {namespace or '-'} {name}\n" for kind, namespace, name in rows)


def _delete(one: Mapping[str, Any]) -> str:
    kind, namespace, name = ident(one)
    where = f" -n {namespace}" if namespace else ""
    return f"kubectl delete {kind.lower()} {name}{where} --ignore-not-found"


def changes(before: Draft | None, draft: Draft, version: int) -> str:
    """CHANGES.md: what differs from the version before.

    Args:
        before: the draft of the version before; None for a first version.
    """
    head = [f"# Changes in version {version}", ""]
    if before is None or before.leaving:
        return "\n".join([*head, "The first version: everything is new.", ""])
    if draft.leaving:
        return "\n".join([*head, "The site leaves: see UNINSTALL.md.", ""])
    # As if both were this version: its number and its nonce are no change.
    was = {ident(one): one for one in numbered(before, version, "")}
    now = {ident(one): one for one in numbered(draft, version, "")}
    lines = [*head, *_words(before, draft)]
    gone = [was[one] for one in was if one not in now]
    if gone:
        lines += [
            "## No longer part of the bundle",
            "",
            "`kubectl apply` deletes nothing. Argo CD and Flux do, with pruning, but nothing that may hold data. By hand:",
            "",
            *(f"    {_delete(one)}" for one in gone if one["kind"] not in STAYING),
            *(f"    # {place(one)}: may hold what is needed still; delete it when you are sure" for one in gone if one["kind"] in STAYING),
            "",
        ]
    new = [now[one] for one in now if one not in was]
    if new:
        lines += ["## New", "", *(f"- {place(one)}" for one in new), ""]
    changed = [one for one in now if one in was and was[one] != now[one]]
    if changed:
        lines += ["## Changed", ""]
        lines += [f"- {place(now[one])}" for one in changed]
        lines += ["", "```diff", *_difference([was[one] for one in changed], [now[one] for one in changed]), "```", ""]
    if not (gone or new or changed):
        lines += ["No object differs. Texts or the program of the job do.", ""]
    return "\n".join(lines)


def _words(before: Draft, draft: Draft) -> list[str]:
    """The changes that people ask about, in words."""
    restarted = [pool for pool, count in draft.restarts.items() if count != before.restarts.get(pool, 0)]
    was, now = images(before.objects), images(draft.objects)
    dead, address = draft.request.get("dead"), draft.facts["address"]
    found = [
        (draft.certificate != before.certificate, "the site's client certificate is new" if draft.certificate else "the site has no client certificate"),
        (draft.trust != before.trust, "the CA bundle by which SuperNodes verify the hub is another one"),
        (dead and dead != before.request.get("dead"), "the job makes new keys in the place of old ones: send its reply, or they stay unknown to the hub"),
        (draft.request.get("renew") != before.request.get("renew"), "the job recreates the secret between SuperNodes and apps: send its reply"),
        (draft.serving != before.serving, "the hub knows other keys of the site than before"),
        (restarted, f"the SuperNodes of {', '.join(restarted)} restart, since they read their keys and secrets once"),
        (was != now, f"images: {', '.join(one for one in now if one not in was) or 'some are no longer needed'}"),
        (address != before.facts["address"], f"the hub has the address {address}"),
    ]
    lines = [f"- {words}" for differs, words in found if differs]
    return [*lines, ""] if lines else []


def _difference(was: Sequence[Object], now: Sequence[Object]) -> list[str]:
    lines: list[str] = []
    for old, new in zip(was, now):
        name = place(new)
        # Of the job's program its request alone, since the program comes with a release of federated.flower.
        before, after = (
            manifest([{**one, "data": {site_jobs.REQUEST: one["data"][site_jobs.REQUEST]}} if is_program(one) else one]).splitlines()
            for one in (old, new)
        )
        lines += [line.rstrip("\n") for line in difflib.unified_diff(before, after, f"{name} before", f"{name} now", lineterm="")]
    more = len(lines) - _LINES
    return lines[:_LINES] + ([f"... and {more} more lines"] if more > 0 else [])
