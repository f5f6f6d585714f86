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
from typing import TYPE_CHECKING

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
from ..manifests.exposures.exposure_registry import exposure_of
from ..spec.hub_spec import CERT_MANAGER_GROUP, HubSpec, OcmUse
from ..state import lease_object as lease
from .need import CA, CLUSTER, DEPLOY, FEDERATION, OBJECT_VERBS, ROTATE, TEARDOWN, UPGRADE, WORKS, Need

if TYPE_CHECKING:
    from ..spec.deployed_spec import Spec
    from ..spec.site_spec import SiteSpec

# Who gets rights.
CONTROLLER = "controller"  # the control node: runs the playbooks
SCIENTIST = "scientist"  # submits and watches runs
AUDITOR = "auditor"  # reads all but secrets
BACKUP = "backup"  # copies the hub into an archive, and does nothing else

READ = "get list watch"

# How a data scientist reaches Flower's command line or API: subresources of the SuperLink's pod.
WAYS = ("exec", "portforward")


_makes_namespace = attrgetter("create_namespace")
_closes_namespace = attrgetter("closes_namespace")
_skupper = attrgetter("has_routers")
_LEASES = f"leases.{lease.API.partition('/')[0]}"
_ocm = attrgetter("ocm")
_ocm_choices = attrgetter("has_placements")
_keys_made_by_the_site = attrgetter("makes_keys")


def _cert_manager(spec: HubSpec) -> bool:
    return spec.certificates_source == "cert_manager"


def _issuer(kind: str) -> Callable[[HubSpec], bool]:
    """Whether cert-manager's issuer of this kind signs."""
    return lambda spec: _cert_manager(spec) and spec.issuer.group == CERT_MANAGER_GROUP and spec.issuer.kind == kind


def _ocm_apps(spec: OcmUse) -> bool:
    return spec.ocm and spec.clientapps


def _ocm_gates(spec: OcmUse) -> bool:
    return _ocm_apps(spec) and spec.enable_gates


def _ocm_bindings(spec: OcmUse) -> bool:
    return spec.has_placements and spec.bind_cluster_sets


def _keys_made_by_the_controller(spec: Spec) -> bool:
    return not spec.makes_keys


def _account_is_given(spec: SiteSpec) -> bool:
    """Whether the site's administrators granted the Job its rights.

    The playbook that renders the rights creates that account and sets it; the preflight checks look for it.
    """
    return spec.makes_keys and spec.keys_account


def _gives_the_job_its_rights(spec: SiteSpec) -> bool:
    return spec.makes_keys and not spec.keys_account


_CONTROLLER_OF_ALL = (
    Need(FEDERATION, "configmaps", "get create patch delete", "the record of what was made, by which it is pruned"),
    Need(FEDERATION, "pods", "list", "say why pods are not ready"),
    Need(FEDERATION, "events", "list", "say what the cluster says of objects that are not ready"),
    Need(
        FEDERATION,
        "namespaces",
        "get patch",
        "labels of the namespace, Pod Security among them",
        names="{namespace}",
        when=_makes_namespace,
    ),
    Need(FEDERATION, "pods", "patch", "make the kubelet bring new files into pods at once"),
    Need(FEDERATION, "pods", "delete", "restart pods one after the other that read their files once", work=ROTATE),
    Need(FEDERATION, "pods/exec", "get create", "ask pods which certificates, secrets and packages they run with", work=ROTATE),
    Need(
        FEDERATION, "namespaces", "get", "see whether there is anything to remove", names="{namespace}", work=TEARDOWN
    ),
    Need(FEDERATION, "configmaps", "get list delete", "remove records", work=TEARDOWN),
    Need(
        FEDERATION,
        "secrets",
        "get list delete",
        "remove keys and certificates",
        work=TEARDOWN,
        when=_keys_made_by_the_controller,
    ),
)


def _skupper_without_secrets(spec: Spec) -> bool:
    """Whether the controller has no right on Secrets but needs it on that of the link, by its default name (C(skupper_link_name))."""
    return spec.has_routers and spec.makes_keys


_SKUPPER_OF_ALL = (
    Need(FEDERATION, "sites.skupper.io", OBJECT_VERBS, "the cluster's place in the Skupper network", when=_skupper),
    Need(FEDERATION, "services", "get", "say whether Skupper's Services have what they need", when=_skupper),
    Need(FEDERATION, "deployments.apps", "get", "wait until the router of a former Site is gone", when=_skupper),
    Need(FEDERATION, "sites.skupper.io", "get list delete", "remove the deployment", work=TEARDOWN, when=_skupper),
    *(
        Need(FEDERATION, _LEASES, "get delete", "remove what routers leave", names=SKUPPER_LEASE, work=work, when=_skupper)
        for work in (DEPLOY, TEARDOWN)
    ),
)


def _skupper_kinds(*kinds: tuple[str, str]) -> tuple[Need, ...]:
    """Rights on some of Skupper's kinds: (resource, purpose)."""
    made = [Need(FEDERATION, f"{name}.skupper.io", OBJECT_VERBS, why, when=_skupper) for name, why in kinds]
    gone = [
        Need(FEDERATION, f"{name}.skupper.io", "get list delete", "remove the deployment", work=TEARDOWN, when=_skupper)
        for name, _why in kinds
    ]
    return (*_SKUPPER_OF_ALL, *made, *gone)


# On the hub of Open Cluster Management. Every managed cluster has a namespace there, whose name is not known before it joins: so what
# is in them is needed on the whole cluster.
OCM = (
    Need(CLUSTER, "managedclusters.cluster.open-cluster-management.io", "get list", "see the sites", when=_ocm),
    Need(CLUSTER, "certificatesigningrequests.certificates.k8s.io", "list", "say why one cannot join", when=_ocm),
    Need(
        CLUSTER,
        "clustermanagementaddons.addon.open-cluster-management.io",
        OBJECT_VERBS,
        "the add-on by which SuperNodes are delivered",
        when=_ocm,
    ),
    Need(CLUSTER, "addontemplates.addon.open-cluster-management.io", OBJECT_VERBS, "what it delivers", when=_ocm),
    Need(
        CLUSTER, "managedclusteraddons.addon.open-cluster-management.io", OBJECT_VERBS, "each site's add-on", when=_ocm
    ),
    Need(CLUSTER, "manifestworks.work.open-cluster-management.io", OBJECT_VERBS, "what is a site's own", when=_ocm),
    Need(
        FEDERATION, "addondeploymentconfigs.addon.open-cluster-management.io", OBJECT_VERBS, "where it goes", when=_ocm
    ),
    Need(
        FEDERATION,
        "placements.cluster.open-cluster-management.io",
        OBJECT_VERBS,
        "which clusters are sites",
        when=_ocm_choices,
    ),
    Need(
        FEDERATION,
        "placementdecisions.cluster.open-cluster-management.io",
        "list",
        "see which were chosen",
        when=_ocm_choices,
    ),
    Need(
        FEDERATION,
        "managedclustersetbindings.cluster.open-cluster-management.io",
        OBJECT_VERBS,
        "choose from cluster sets",
        when=_ocm_choices,
    ),
    Need(
        CLUSTER,
        "managedclustersets.cluster.open-cluster-management.io",
        "list",
        "see which there are",
        when=_ocm_choices,
    ),
    Need(
        CLUSTER,
        "managedclustersets/bind.cluster.open-cluster-management.io",
        "create",
        "choose from cluster sets",
        when=_ocm_bindings,
    ),
    Need(
        CLUSTER,
        "managedclusters.cluster.open-cluster-management.io",
        "patch",
        "the label that says which version of the ClientApps a site has",
        when=_ocm_apps,
    ),
    Need(
        FEDERATION,
        "manifestworkreplicasets.work.open-cluster-management.io",
        OBJECT_VERBS,
        "versions of the ClientApps",
        when=_ocm_apps,
    ),
    Need(
        CLUSTER,
        "clustermanagers.operator.open-cluster-management.io",
        "get list patch",
        "enable the feature that delivers ClientApps",
        when=_ocm_gates,
    ),
)

_LEASE = tuple(
    Need(FEDERATION, _LEASES, verbs, "one playbook at a time changes the fleet", names=names, work=work)
    for work in WORKS
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
        Need(FEDERATION, "secrets", "delete", "have Skupper make a link's certificate anew", when=_skupper),
        Need(
            FEDERATION,
            "configmaps",
            "get list create patch update",
            "the ledger of sites, partitions and public keys; who is denied; the audit trail",
        ),
        Need(FEDERATION, "secrets", "get list create patch", "certificates and shared secrets of the hub"),
        Need(FEDERATION, "pods", "get", "wait for the SuperLink", names=SUPERLINK_POD),
        Need(FEDERATION, "persistentvolumeclaims", "get", "see whether the SuperLink waits for a volume without end", names=DATABASE_CLAIM),
        Need(
            FEDERATION,
            "pods",
            "delete",
            "have a SuperLink created again that waits for a volume without end, or has a former template and is not ready",
            names=SUPERLINK_POD,
        ),
        Need(
            FEDERATION,
            "pods/exec",
            "get create",
            "Flower's command line: register SuperNodes, ask for their state, submit runs",
            names=SUPERLINK_POD,
        ),
        Need(
            FEDERATION,
            "routes/custom-host.route.openshift.io",
            "create update",
            "the host name of the Route",
            when=lambda spec: exposure_of(spec).sets_route_host(spec),
        ),
        Need(
            FEDERATION,
            "certificates.cert-manager.io",
            OBJECT_VERBS,
            "the gateway's certificate, which cert-manager issues",
            when=_cert_manager,
        ),
        Need(FEDERATION, "certificaterequests.cert-manager.io", "list", "say why it is not issued", when=_cert_manager),
        Need(
            FEDERATION, "issuers.cert-manager.io", "get list", "see whether the issuer is ready", when=_issuer("Issuer")
        ),
        Need(
            CLUSTER,
            "clusterissuers.cert-manager.io",
            "get list",
            "see whether the issuer is ready",
            when=_issuer("ClusterIssuer"),
        ),
        Need(
            FEDERATION,
            "secrets",
            "delete",
            "remove the certificate by which sites tried the next CA",
            names=GATEWAY_NEXT_SECRET,
            work=ROTATE,
        ),
        Need(CA, "secrets", "update", "replace a certificate authority, with nobody else at it", work=ROTATE),
        Need(CA, "secrets", "get list create patch", "keys of the federation's certificate authorities"),
        Need(
            CA,
            "namespaces",
            "get patch",
            "labels of the namespace, Pod Security among them",
            names="{namespace}",
            when=_makes_namespace,
        ),
        Need(
            CA,
            "networkpolicies.networking.k8s.io",
            "get create patch",
            "no traffic to and from anything beside the keys",
            when=_closes_namespace,
        ),
        Need(
            CA,
            "networkpolicies.networking.k8s.io",
            "get list delete",
            "remove it together with the keys",
            work=TEARDOWN,
            when=_closes_namespace,
        ),
        Need(CA, "namespaces", "get", "see whether there is anything to remove", names="{namespace}", work=TEARDOWN),
        Need(CA, "secrets", "get list delete", "remove the keys of the certificate authorities", work=TEARDOWN),
        Need(FEDERATION, "persistentvolumeclaims", "get list delete", "remove the SuperLink's volume", work=TEARDOWN),
        Need(CLUSTER, "nodes", "list", "the address of a node, which sites dial", when=lambda spec: exposure_of(spec).needs_nodes(spec)),
    ),
    (CONTROLLER, SUPERNODE): (
        *_CONTROLLER_OF_ALL,
        *_skupper_kinds(
            ("links", "the link to the hub"),
            ("listeners", "the way of SuperNodes into the Skupper network"),
            ("accesstokens", "fetch the link's first certificate by a token"),
        ),
        Need(
            FEDERATION,
            "secrets",
            "get create patch delete",
            "the certificate of the link to the hub",
            names="flower-hub",
            when=_skupper_without_secrets,
        ),
        Need(
            FEDERATION,
            "secrets",
            "get list create patch update delete",
            "keys of the SuperNodes, made, taken over and deleted one by one",
            when=_keys_made_by_the_controller,
        ),
        Need(FEDERATION, "jobs.batch", "create", "make keys inside the site", when=_keys_made_by_the_site),
        Need(
            FEDERATION,
            "jobs.batch",
            "get patch delete",
            "start the Job that makes keys, wait for it, take it away",
            names=KEY_JOB,
            when=_keys_made_by_the_site,
        ),
        Need(
            FEDERATION,
            "jobs.batch",
            "get delete",
            "take away a Job that an interrupted run left",
            names=KEY_JOB,
            work=TEARDOWN,
            when=_keys_made_by_the_site,
        ),
        Need(
            FEDERATION,
            "roles.rbac.authorization.k8s.io",
            "get",
            "see whether the Job that makes keys may write the Secrets of all pools",
            names=KEY_JOB,
            when=_account_is_given,
        ),
        Need(
            FEDERATION,
            "roles.rbac.authorization.k8s.io",
            "create",
            "what the Job that makes keys may do",
            when=_gives_the_job_its_rights,
        ),
        Need(
            FEDERATION,
            "rolebindings.rbac.authorization.k8s.io",
            "create",
            "what the Job that makes keys may do",
            when=_gives_the_job_its_rights,
        ),
        Need(
            FEDERATION,
            "secrets",
            "get create patch delete",
            "what the Job that makes keys may do, to give it away",
            when=_gives_the_job_its_rights,
        ),
        Need(
            FEDERATION,
            "jobs.batch",
            "list create delete",
            "have nodes pull new images before an upgrade replaces pods",
            work=UPGRADE,
        ),
        Need(FEDERATION, "persistentvolumeclaims", "list", "leave a namespace alone that holds volumes", work=TEARDOWN),
        Need(CLUSTER, "nodes", "list", "a key for every node of a DaemonSet pool", when=attrgetter("needs_nodes")),
    ),
    (SCIENTIST, SUPERLINK): (
        Need(FEDERATION, "pods", "get", "find the SuperLink", names=SUPERLINK_POD),
        Need(FEDERATION, "pods/exec", "get create", "Flower's command line in the SuperLink's pod", names=SUPERLINK_POD),
        Need(
            FEDERATION, "pods/portforward", "get create", "Flower's Control API for one's own command line", names=SUPERLINK_POD
        ),
        Need(FEDERATION, "configmaps", "get", "which sites have which datasets", names=LEDGER_DATASETS_CONFIG),
        Need(FEDERATION, "configmaps", "get", "which SuperNodes and which region the sites have", names=LEDGER_NODES_CONFIG),
    ),
    (SCIENTIST, SUPERNODE): (),
    (AUDITOR, SUPERLINK): (
        Need(FEDERATION, "sites.skupper.io", READ, "the Skupper network as the hub sees it", when=_skupper),
        Need(FEDERATION, "connectors.skupper.io", READ, "who can be reached through the network", when=_skupper),
        Need(FEDERATION, "certificates.skupper.io", READ, "which links have a certificate", when=_skupper),
        Need(FEDERATION, "configmaps", READ, "ledger, settings of the gateway, who is denied, the audit trail"),
        Need(FEDERATION, _LEASES, READ, "who is changing the fleet"),
        Need(FEDERATION, "pods", READ, "what runs"),
        Need(FEDERATION, "pods/log", "get", "who called, and what came of it"),
        Need(FEDERATION, "events", READ, "what happened"),
        Need(FEDERATION, "persistentvolumeclaims", READ, "where data lies"),
        Need(FEDERATION, "roles.rbac.authorization.k8s.io", READ, "who may do what"),
        Need(FEDERATION, "rolebindings.rbac.authorization.k8s.io", READ, "who may do what"),
        Need(CA, "roles.rbac.authorization.k8s.io", READ, "who may read the keys of the certificate authorities"),
        Need(
            CA, "rolebindings.rbac.authorization.k8s.io", READ, "who may read the keys of the certificate authorities"
        ),
    ),
    (AUDITOR, SUPERNODE): (
        Need(FEDERATION, "sites.skupper.io", READ, "the site's place in the Skupper network", when=_skupper),
        Need(FEDERATION, "links.skupper.io", READ, "the link to the hub", when=_skupper),
        Need(FEDERATION, "listeners.skupper.io", READ, "the way of SuperNodes into the network", when=_skupper),
        Need(FEDERATION, "configmaps", READ, "settings of the SuperNodes"),
        Need(FEDERATION, "pods", READ, "what runs"),
        Need(FEDERATION, "pods/log", "get", "who called, and what came of it"),
        Need(FEDERATION, "events", READ, "what happened"),
        Need(FEDERATION, "roles.rbac.authorization.k8s.io", READ, "who may do what"),
        Need(FEDERATION, "rolebindings.rbac.authorization.k8s.io", READ, "who may do what"),
    ),
    (BACKUP, SUPERLINK): (
        Need(FEDERATION, "configmaps", "get list", "copy the ledger, the audit trail and settings of the hub"),
        Need(FEDERATION, "configmaps", "create", "note the last backup"),
        Need(FEDERATION, "configmaps", "update", "note the last backup", names=LEDGER_BACKUP_CONFIG),
        Need(FEDERATION, "secrets", "list", "copy certificates and shared secrets of the hub"),
        Need(FEDERATION, "services", "list", "copy the node ports by which sites find the hub"),
        Need(FEDERATION, "pods/exec", "get create", "copy the database of the SuperLink", names=SUPERLINK_POD),
        Need(CA, "secrets", "list", "copy the keys of the federation's certificate authorities"),
    ),
}
