# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The table: who needs which rights in a cluster, and what for. Roles and the preflight check both come from it.

A new right is a new line here. Rights on objects that the roles render are not listed: C(grants.py) takes them from the
renderers, so a new kind of object adds its own.

Some rules behind it:

- Server-side apply of an object that does not exist needs C(patch) and then for C(create); it is the only way in which
  C(create) can be limited to a name (apiserver, endpoints/handlers/patch.go).
- C(get), C(patch) and C(delete) of a Namespace can be granted by a Role in it: the request's namespace is its own name
  (apiserver, endpoints/request/requestinfo.go). So nothing on the whole cluster is needed for an existing namespace.
- An exec over a websocket is a C(get); newer API servers (1.35) need C(create) as well, and so does every client that
  sends a POST.
- No one can grant rights that they do not have (Kubernetes documentation, «Privilege escalation prevention»). So where
  the controller creates a Role, all rules of it must be among its own; C(bind) and C(escalate) are never granted. Hence
  the two modes of a site that creates its keys itself: either the site's administrators granted rights to an account of its Job,
  and the controller has none on Secrets, not even one to see their names; or the controller grants them to each Job, and
  must have them. For the same reason it has none to delete Secrets in the first case: the response would contain them.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any

from ..base.object_names import (
    DATABASE_CLAIM,
    GATEWAY_NEXT_SECRET,
    KEY_JOB,
    LEDGER_BACKUP_CONFIG,
    LEDGER_DATASETS_CONFIG,
    LEDGER_NODES_CONFIG,
    SKUPPER_LEASE,
    SUPERLINK,
    SUPERLINK_POD,
    SUPERNODE,
)
from ..manifests.exposure import exposure_of
from ..spec.hub_spec import CERT_MANAGER_GROUP
from ..state import lease_object as lease
from .need import CA, CLUSTER, DEPLOY, FEDERATION, LOGS, OBJECT_VERBS, ROTATE, SCHEDULE, TEARDOWN, UPGRADE, Need

# Who gets rights.
CONTROLLER = "controller"  # the control node: runs the playbooks
SCIENTIST = "scientist"  # submits and watches runs
AUDITOR = "auditor"  # reads all but secrets
BACKUP = "backup"  # copies the hub into an archive, and does nothing else

READ = "get list watch"

# How a data scientist reaches Flower's command line or API: subresources of the SuperLink's pod.
POD_ACCESS = ("exec", "portforward")

# Conditions on the specification of a part.
_makes_namespace, _closes_namespace = attrgetter("create_namespace"), attrgetter("closes_namespace")
_skupper, _makes_keys, _ocm, _ocm_choices = attrgetter("has_routers"), attrgetter("makes_keys"), attrgetter("ocm"), attrgetter("has_placements")


def _writes_keys(spec: Any) -> bool:
    """Whether the controller makes the keys, and so has rights on Secrets."""
    return not spec.makes_keys


def _ocm_apps(spec: Any) -> bool:
    return spec.ocm and spec.clientapps


def _cert_manager(spec: Any) -> bool:
    return spec.certificates_source == "cert_manager"


def _issuer(kind: str) -> Callable[[Any], bool]:
    """Whether cert-manager's issuer of this kind signs."""
    return lambda spec: _cert_manager(spec) and spec.issuer.group == CERT_MANAGER_GROUP and spec.issuer.kind == kind


def _needs(place: str, *rows: tuple[str, ...], work: str = DEPLOY, when: Callable[[Any], bool] = lambda spec: True) -> tuple[Need, ...]:
    """Needs in one place, for one work: rows of resource, verbs, purpose and, if they are limited to some objects, their names."""
    return tuple(Need(place, row[0], row[1], row[2], " ".join(row[3:]), work, when) for row in rows)


_LEASES = f"leases.{lease.API.partition('/')[0]}"
_ROLES, _BINDINGS = "roles.rbac.authorization.k8s.io", "rolebindings.rbac.authorization.k8s.io"
_POLICIES = "networkpolicies.networking.k8s.io"

_CONTROLLER_OF_ALL = (
    *_needs(
        FEDERATION,
        ("configmaps", "get create patch delete", "the record of what was made, by which it is pruned"),
        ("pods", "list", "say why pods are not ready"),
        ("events", "list", "say what the cluster says of objects that are not ready"),
    ),
    *_needs(FEDERATION, ("namespaces", "get patch", "labels of the namespace, Pod Security among them", "{namespace}"), when=_makes_namespace),
    *_needs(FEDERATION, ("pods", "patch", "make the kubelet bring new files into pods at once")),
    *_needs(
        FEDERATION,
        ("pods", "delete", "restart pods one after the other that read their files once"),
        ("pods/exec", "get create", "ask pods which certificates, secrets and packages they run with"),
        work=ROTATE,
    ),
    *_needs(
        FEDERATION,
        ("namespaces", "get", "see whether there is anything to remove", "{namespace}"),
        ("configmaps", "get list delete", "remove records"),
        work=TEARDOWN,
    ),
    *_needs(FEDERATION, ("secrets", "get list delete", "remove keys and certificates"), work=TEARDOWN, when=_writes_keys),
    *_needs(FEDERATION, ("pods", "list", "find the pods of the federation"), ("pods/log", "get", "read their logs"), work=LOGS),
)


def _skupper_kinds(*kinds: tuple[str, str]) -> tuple[Need, ...]:
    """Rights on objects of Skupper, those of its kinds that only one part has among them: (resource, purpose)."""
    remove = ("get list delete", "remove the deployment")
    leases = (_LEASES, "get delete", "remove what routers leave", SKUPPER_LEASE)
    return (
        *_needs(
            FEDERATION,
            ("sites.skupper.io", OBJECT_VERBS, "the cluster's place in the Skupper network"),
            ("services", "get", "say whether Skupper's Services have what they need"),
            ("deployments.apps", "get", "wait until the router of a former Site is gone"),
            leases,
            *((f"{name}.skupper.io", OBJECT_VERBS, purpose) for name, purpose in kinds),
            when=_skupper,
        ),
        *_needs(
            FEDERATION,
            ("sites.skupper.io", *remove),
            leases,
            *((f"{name}.skupper.io", *remove) for name, _purpose in kinds),
            work=TEARDOWN,
            when=_skupper,
        ),
    )


# On the hub of Open Cluster Management. Every managed cluster has a namespace there, whose name is not known before it joins: so what
# is in them is needed on the whole cluster.
_CLUSTERS, _ADDONS, _WORKS = (f"{group}.open-cluster-management.io" for group in ("cluster", "addon", "work"))
OCM = (
    *_needs(
        CLUSTER,
        (f"managedclusters.{_CLUSTERS}", "get list", "see the sites"),
        ("certificatesigningrequests.certificates.k8s.io", "list", "say why one cannot join"),
        (f"clustermanagementaddons.{_ADDONS}", OBJECT_VERBS, "the add-on by which SuperNodes are delivered"),
        (f"addontemplates.{_ADDONS}", OBJECT_VERBS, "what it delivers"),
        (f"managedclusteraddons.{_ADDONS}", OBJECT_VERBS, "each site's add-on"),
        (f"manifestworks.{_WORKS}", OBJECT_VERBS, "what is a site's own"),
        when=_ocm,
    ),
    *_needs(FEDERATION, (f"addondeploymentconfigs.{_ADDONS}", OBJECT_VERBS, "where it goes"), when=_ocm),
    *_needs(
        FEDERATION,
        (f"placements.{_CLUSTERS}", OBJECT_VERBS, "which clusters are sites"),
        (f"placementdecisions.{_CLUSTERS}", "list", "see which were chosen"),
        (f"managedclustersetbindings.{_CLUSTERS}", OBJECT_VERBS, "choose from cluster sets"),
        when=_ocm_choices,
    ),
    *_needs(CLUSTER, (f"managedclustersets.{_CLUSTERS}", "list", "see which there are"), when=_ocm_choices),
    *_needs(
        CLUSTER,
        (f"managedclustersets/bind.{_CLUSTERS}", "create", "choose from cluster sets"),
        when=lambda spec: spec.has_placements and spec.bind_cluster_sets,
    ),
    *_needs(
        CLUSTER,
        (f"managedclusters.{_CLUSTERS}", "patch", "the label that says which version of the ClientApps a site has"),
        when=_ocm_apps,
    ),
    *_needs(FEDERATION, (f"manifestworkreplicasets.{_WORKS}", OBJECT_VERBS, "versions of the ClientApps"), when=_ocm_apps),
    *_needs(
        CLUSTER,
        ("clustermanagers.operator.open-cluster-management.io", "get list patch", "enable the feature that delivers ClientApps"),
        when=lambda spec: _ocm_apps(spec) and spec.enable_gates,
    ),
)

_LEASE = tuple(
    Need(FEDERATION, _LEASES, verbs, "one playbook at a time changes the fleet", names=names, work=work)
    for work in (DEPLOY, ROTATE, UPGRADE, TEARDOWN)
    for verbs, names in (("create", ""), ("get update delete", lease.NAME))
)

TABLE: dict[tuple[str, str], tuple[Need, ...]] = {
    (CONTROLLER, SUPERLINK): (
        *_CONTROLLER_OF_ALL,
        *_LEASE,
        *OCM,
        *_skupper_kinds(
            ("connectors", "the way from the Skupper network to the SuperLink"),
            ("certificates", "client certificates of the sites' links"),
            ("accessgrants", "leave for a site to fetch its first certificate by a token"),
        ),
        *_needs(FEDERATION, ("secrets", "delete", "have Skupper make a link's certificate anew"), when=_skupper),
        *_needs(
            FEDERATION,
            ("configmaps", "get list create patch update", "the ledger of sites, partitions and public keys; who is denied; the audit trail"),
            ("secrets", "get list create patch", "certificates and shared secrets of the hub"),
            ("pods", "get", "wait for the SuperLink", SUPERLINK_POD),
            ("persistentvolumeclaims", "get", "see whether the SuperLink waits for a volume without end", DATABASE_CLAIM),
            (
                "pods", "delete", "have a SuperLink created again that waits for a volume without end, or has a former template and is not ready",
                SUPERLINK_POD,
            ),
            ("pods/exec", "get create", "Flower's command line: register SuperNodes, ask for their state, submit runs", SUPERLINK_POD),
        ),
        *_needs(
            FEDERATION,
            ("routes/custom-host.route.openshift.io", "create update", "the host name of the Route"),
            when=lambda spec: exposure_of(spec).sets_route_host,
        ),
        *_needs(
            FEDERATION,
            ("certificates.cert-manager.io", OBJECT_VERBS, "the gateway's certificate, which cert-manager issues"),
            ("certificaterequests.cert-manager.io", "list", "say why it is not issued"),
            when=_cert_manager,
        ),
        *_needs(FEDERATION, ("issuers.cert-manager.io", "get list", "see whether the issuer is ready"), when=_issuer("Issuer")),
        *_needs(CLUSTER, ("clusterissuers.cert-manager.io", "get list", "see whether the issuer is ready"), when=_issuer("ClusterIssuer")),
        *_needs(FEDERATION, ("secrets", "delete", "remove the certificate by which sites tried the next CA", GATEWAY_NEXT_SECRET), work=ROTATE),
        *_needs(CA, ("secrets", "update", "replace a certificate authority, with nobody else at it"), work=ROTATE),
        *_needs(CA, ("secrets", "get list create patch", "keys of the federation's certificate authorities")),
        *_needs(CA, ("namespaces", "get patch", "labels of the namespace, Pod Security among them", "{namespace}"), when=_makes_namespace),
        *_needs(CA, (_POLICIES, "get create patch", "no traffic to and from anything beside the keys"), when=_closes_namespace),
        *_needs(CA, (_POLICIES, "get list delete", "remove it together with the keys"), work=TEARDOWN, when=_closes_namespace),
        *_needs(
            CA,
            ("namespaces", "get", "see whether there is anything to remove", "{namespace}"),
            ("secrets", "get list delete", "remove the keys of the certificate authorities"),
            work=TEARDOWN,
        ),
        *_needs(FEDERATION, ("persistentvolumeclaims", "get list delete", "remove the SuperLink's volume"), work=TEARDOWN),
        *_needs(CLUSTER, ("nodes", "list", "the address of a node, which sites dial"), when=lambda spec: exposure_of(spec).needs_nodes(spec)),
        *_needs(
            FEDERATION,
            ("cronjobs.batch", OBJECT_VERBS, "trainings on a calendar"),
            ("configmaps", OBJECT_VERBS, "their apps and settings"),
            ("serviceaccounts", OBJECT_VERBS, "the identity of their pods"),
            (_ROLES, OBJECT_VERBS, "the right of their pods to start runs"),
            (_BINDINGS, OBJECT_VERBS, "the right of their pods to start runs"),
            ("pods", "list", "what became of their runs"),
            work=SCHEDULE,
        ),
        *_needs(FEDERATION, (_POLICIES, OBJECT_VERBS, "what their pods may call"), work=SCHEDULE, when=attrgetter("network_policies")),
    ),
    (CONTROLLER, SUPERNODE): (
        *_CONTROLLER_OF_ALL,
        *_skupper_kinds(
            ("links", "the link to the hub"),
            ("listeners", "the way of SuperNodes into the Skupper network"),
            ("accesstokens", "fetch the link's first certificate by a token"),
        ),
        # By the default name of the link (skupper_link_name), where the controller has no right on other Secrets.
        *_needs(
            FEDERATION,
            ("secrets", "get create patch delete", "the certificate of the link to the hub", "flower-hub"),
            when=lambda spec: spec.has_routers and spec.makes_keys,
        ),
        *_needs(
            FEDERATION,
            ("secrets", "get list create patch update delete", "keys of the SuperNodes, made, taken over and deleted one by one"),
            when=_writes_keys,
        ),
        *_needs(
            FEDERATION,
            ("jobs.batch", "create", "make keys inside the site"),
            ("jobs.batch", "get patch delete", "start the Job that makes keys, wait for it, take it away", KEY_JOB),
            when=_makes_keys,
        ),
        *_needs(FEDERATION, ("jobs.batch", "get delete", "take away a Job that an interrupted run left", KEY_JOB), work=TEARDOWN, when=_makes_keys),
        # The site's administrators granted the Job its rights. The playbook that renders them sets it; the preflight checks look for the account.
        *_needs(
            FEDERATION,
            (_ROLES, "get", "see whether the Job that makes keys may write the Secrets of all pools", KEY_JOB),
            when=lambda spec: spec.makes_keys and spec.keys_account,
        ),
        *_needs(
            FEDERATION,
            (_ROLES, "create", "what the Job that makes keys may do"),
            (_BINDINGS, "create", "what the Job that makes keys may do"),
            ("secrets", "get create patch delete", "what the Job that makes keys may do, to give it away"),
            when=lambda spec: spec.makes_keys and not spec.keys_account,
        ),
        *_needs(FEDERATION, ("jobs.batch", "list create delete", "have nodes pull new images before an upgrade replaces pods"), work=UPGRADE),
        *_needs(FEDERATION, ("persistentvolumeclaims", "list", "leave a namespace alone that holds volumes"), work=TEARDOWN),
        *_needs(CLUSTER, ("nodes", "list", "a key for every node of a DaemonSet pool"), when=attrgetter("needs_nodes")),
    ),
    (SCIENTIST, SUPERLINK): _needs(
        FEDERATION,
        ("pods", "get", "find the SuperLink", SUPERLINK_POD),
        ("pods/exec", "get create", "Flower's command line in the SuperLink's pod", SUPERLINK_POD),
        ("pods/portforward", "get create", "Flower's Control API for one's own command line", SUPERLINK_POD),
        ("configmaps", "get", "which sites have which datasets", LEDGER_DATASETS_CONFIG),
        ("configmaps", "get", "which SuperNodes and which region the sites have", LEDGER_NODES_CONFIG),
    ),
    (SCIENTIST, SUPERNODE): (),
    (AUDITOR, SUPERLINK): (
        *_needs(
            FEDERATION,
            ("sites.skupper.io", READ, "the Skupper network as the hub sees it"),
            ("connectors.skupper.io", READ, "who can be reached through the network"),
            ("certificates.skupper.io", READ, "which links have a certificate"),
            when=_skupper,
        ),
        *_needs(
            FEDERATION,
            ("configmaps", READ, "ledger, settings of the gateway, who is denied, the audit trail"),
            (_LEASES, READ, "who is changing the fleet"),
            ("pods", READ, "what runs"),
            ("pods/log", "get", "who called, and what came of it"),
            ("events", READ, "what happened"),
            ("persistentvolumeclaims", READ, "where data lies"),
            (_ROLES, READ, "who may do what"),
            (_BINDINGS, READ, "who may do what"),
        ),
        *_needs(CA, *((resource, READ, "who may read the keys of the certificate authorities") for resource in (_ROLES, _BINDINGS))),
    ),
    (AUDITOR, SUPERNODE): (
        *_needs(
            FEDERATION,
            ("sites.skupper.io", READ, "the site's place in the Skupper network"),
            ("links.skupper.io", READ, "the link to the hub"),
            ("listeners.skupper.io", READ, "the way of SuperNodes into the network"),
            when=_skupper,
        ),
        *_needs(
            FEDERATION,
            ("configmaps", READ, "settings of the SuperNodes"),
            ("pods", READ, "what runs"),
            ("pods/log", "get", "who called, and what came of it"),
            ("events", READ, "what happened"),
            (_ROLES, READ, "who may do what"),
            (_BINDINGS, READ, "who may do what"),
        ),
    ),
    (BACKUP, SUPERLINK): (
        *_needs(
            FEDERATION,
            ("configmaps", "get list", "copy the ledger, the audit trail and settings of the hub"),
            ("configmaps", "create", "note the last backup"),
            ("configmaps", "update", "note the last backup", LEDGER_BACKUP_CONFIG),
            ("secrets", "list", "copy certificates and shared secrets of the hub"),
            ("services", "list", "copy the node ports by which sites find the hub"),
            ("pods/exec", "get create", "copy the database of the SuperLink", SUPERLINK_POD),
        ),
        *_needs(CA, ("secrets", "list", "copy the keys of the federation's certificate authorities")),
    ),
}
