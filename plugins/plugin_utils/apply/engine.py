# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Apply a list of objects to one cluster: read, compare, patch what differs, prune, wait.

This file has the sequence; its parts are in their own files: order (input), applyset (names and records), live_objects (members of a
set), compare (would a patch change anything), field_conflicts (what others keep setting), results and redacted_diff (what is
shown), wait and readiness.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..base import kinds
from ..base.errors import ClusterError
from ..kube import pod_health, stuck_pods
from ..kube.api_errors import ApiError, Conflict, Forbidden, NotServed
from ..kube.client import FIELD_MANAGER, Cluster
from ..marks import owners, proof
from . import applyset as sets
from . import field_conflicts, order, results, wait
from .compare import content, differing_parts, differs
from .live_objects import Members, Unlisted
from .order import Id, id_of
from .results import ApplyFailed, Recorder, Result
from .wait import Waiter

WAIT_SECONDS = 300.0

_ORDER_OF_COUNTS = ("created", "changed", "unchanged", "deleted", "failed")
Object = dict[str, Any]


def apply_objects(
    cluster: Cluster,
    objects: Sequence[Mapping[str, Any]],
    *,
    state: str = "present",
    applyset: str | None = None,
    applyset_namespace: str | None = None,
    prune: bool | None = None,
    check: bool = False,
    show_diff: bool = False,
    wait: bool = False,
    wait_timeout: float = WAIT_SECONDS,
    image_seconds: float = 0,
    away: Mapping[Id, int] | None = None,
    owner: Mapping[str, str] | None = None,
    claim: bool = False,
    own_only: bool = False,
    part: str | None = None,
    proven: Collection[str] = (),
    named: Collection[sets.GroupKind] = (),
    unrecorded: Collection[sets.GroupKind] = (),
) -> Result:
    """Apply objects to a cluster, or delete them.

    An object that is rendered as this collection's own never replaces one that someone else created (C(marks.proof)): then nothing at all is
    written. A pod that is not ready and keeps the former template of its StatefulSet is deleted (C(wait.outdated_pods)).

    Args:
        state: C(present) or C(absent).
        applyset: name of the set that records what was created.
        applyset_namespace: namespace of that record; that of the first namespaced object by default.
        prune: whether members of the set that are no longer listed are deleted; by default, if there is a set.
        check: whether nothing is written.
        wait: whether to wait until all are ready, or gone; C(wait_timeout): for how many seconds.
        image_seconds: how long nodes may fail to get an image, see C(wait.Waiter); C(away) as well.
        owner: annotations that say whose deployment the set is (C(owners.deployment_notes)). Another owner's is refused.
        claim: whether the set of another owner is taken over.
        own_only: with state absent, whether listed objects that this collection never wrote to are refused.
        part: only members of this part of the federation (C(owners)) are deleted. A Namespace that a site shares with the hub stays as the hub
            applied it.
        proven: uids of live objects that the caller knows to be of this collection, although another controller created them.
        named: kinds (group, kind) of which the caller lists all members of the set, so that the right to list them is not needed.
        unrecorded: with state absent, kinds whose members are searched in the whole cluster if the set has no record.

    Raises:
        ApplyFailed: objects failed.
        ClusterError: the input is not usable.
    """
    prepared = order.prepare(objects)
    items = [_Item(obj, id_of(obj)) for obj in prepared]
    own = None
    if applyset:
        namespace = applyset_namespace or next((item.which.namespace for item in items if item.which.namespace), None)
        if not namespace:
            raise ClusterError("applyset needs applyset_namespace: no listed object has a namespace.")
        own = Members(cluster, applyset, namespace, owner or {}, part, named, unrecorded if state == "absent" else (), check)
    elif prune:
        raise ClusterError(
            "prune needs the name of an applyset: without it the objects of this set cannot be identified."
        )
    return _Apply(
        cluster, items, own, Recorder(prepared, show_diff), check=check, prune=prune is not False, wait=wait, wait_timeout=wait_timeout,
        image_seconds=image_seconds, away=away or {}, claim=claim, own_only=own_only, part=part, proven=proven,
    ).run(state)  # fmt: skip


@dataclass
class _Item:
    """A listed object. C(parent_missing): whether its Namespace or CustomResourceDefinition does not exist yet."""

    desired: Object
    which: Id
    live: Object | None = None
    now: Object | None = None
    change: str = ""
    parent_missing: bool = False


@dataclass
class _Apply:
    """One run; the options are those of C(apply_objects)."""

    cluster: Cluster
    items: list[_Item]
    applyset: Members | None
    recorder: Recorder
    check: bool
    prune: bool
    wait: bool
    wait_timeout: float
    image_seconds: float
    away: Mapping[Id, int]
    claim: bool
    own_only: bool
    part: str | None
    proven: Collection[str]
    failed: set[Id] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.namespaces = {item.which.name: item for item in self.items if order.is_namespace(item.desired)}
        self.crds = {key: item for item in self.items if (key := order.kind_of_crd(item.desired))}

    def run(self, state: str) -> Result:
        """Apply the objects, or delete them."""
        result, before = self.recorder.result, self.cluster.requests
        try:
            self._resolve_scopes(state)
            self._read()
            if state == "present":
                self._apply_all()
            else:
                self._delete_all()
        except ApiError as error:
            self._fail(None, "refused", error.message)
        except ClusterError as error:
            done = sum(1 for item in self.items if item.change)
            rest = f" ({done} of {len(self.items)} objects were processed before)" if done else ""
            self._fail(None, "unreachable", error.message + rest)
        result.requests = self.cluster.requests - before
        for item in self.items:
            if item.change:
                written = item.desired if item.change in ("created", "changed") else None
                self.recorder.record(item.which, item.desired["apiVersion"], item.change, written)
        for text in self.cluster.warnings:
            self.recorder.warn(text)
        self.cluster.warnings.clear()
        result.changed = any(one["change"] in ("created", "changed", "deleted") for one in result.objects)
        result._live = [item.now for item in self.items if item.now is not None]
        counts = Counter(one["change"] for one in result.objects)
        parts = [f"{counts[name]} {name}" for name in _ORDER_OF_COUNTS if counts[name]]
        result.msg = f"{', '.join(parts) or 'nothing to do'} on {self.cluster.name}"
        if result.errors:
            reported = "; ".join(one["message"] for one in result.errors)
            raise ApplyFailed(f"{result.msg}: {reported}" if parts else reported, result)
        return result

    def _fail(self, item: _Item | None, category: str, message: str) -> None:
        self.recorder.error(item.which if item else None, item.desired["apiVersion"] if item else "", category, message)
        if item:
            item.change = "failed"
            self.failed.add(item.which)

    def _undecided(self, *, namespaces: bool | None = None) -> list[_Item]:
        """Items about which nothing is decided yet: all, only Namespaces, or all but Namespaces."""
        return [item for item in self.items if not item.change and namespaces in (None, order.is_namespace(item.desired))]

    def _waiter(self) -> Waiter:
        return Waiter(self.cluster, self.wait_timeout)

    # ---- before anything is written ----------------------------------------------------------------------------------

    def _resolve_scopes(self, state: str) -> None:
        """Find out which objects have a namespace; complete or refuse each."""
        for item in self.items:
            obj = item.desired
            group = kinds.group_of(obj["apiVersion"])
            crd = self.crds.get((group, obj["kind"]))
            try:
                namespaced = self.cluster.resource(obj["apiVersion"], obj["kind"]).namespaced
            except NotServed as error:
                if crd is not None:
                    namespaced = crd.desired["spec"].get("scope", "Namespaced") == "Namespaced"
                    item.parent_missing = True
                elif state == "absent":
                    item.change = "unchanged"  # where the kind is unknown, there is no such object
                    continue
                elif self.check:
                    namespaced = bool(item.which.namespace)
                    item.parent_missing = True
                    self.recorder.warn(f"{item.which}: {error.text}. Treated as if an earlier task installed it.")
                else:
                    self._fail(item, "not served", error.text)
                    continue
            if not namespaced and item.which.namespace:
                del obj["metadata"]["namespace"]
                item.which = id_of(obj)
            elif namespaced and not item.which.namespace:
                self._fail(item, "invalid", "metadata.namespace is missing")
                continue
            if self.applyset and sets.is_member_kind(group, obj["kind"]):
                item.desired = sets.with_label(obj, self.applyset.id)

    def _read(self) -> None:
        """Namespaces first: what is in an absent one need not be read."""
        self._read_items(self._undecided(namespaces=True))
        absent = {name for name, item in self.namespaces.items() if item.live is None}
        if self.applyset and self.applyset.namespace not in absent:
            self.applyset.read(claim=self.claim)
        rest = []
        for item in self._undecided(namespaces=False):
            if item.which.namespace in absent:
                item.parent_missing = True
            elif not item.parent_missing:
                rest.append(item)
        self._read_items(rest)

    def _read_items(self, items: Sequence[_Item]) -> None:
        for item in items:
            try:
                found = self.applyset.find(item.desired) if self.applyset else None
                which = item.which
                item.live = found or self.cluster.get(item.desired["apiVersion"], which.kind, which.name, which.namespace or None)
            except ApiError as error:
                self._fail(item, *results.describe_error(error))

    # ---- state: present ----------------------------------------------------------------------------------------------

    def _apply_all(self) -> None:
        self._wait_for_deletion([item for item in self._undecided() if item.live and item.live["metadata"].get("deletionTimestamp")])
        if not self._may_write():
            return
        for item in self._undecided(namespaces=True):
            self._write(item)
        if self.applyset and not self._update_record(self.applyset, self.applyset.widen, self._listed()):
            return
        for item in self._undecided(namespaces=False):
            self._write(item)
        if self.recorder.result.errors:
            return
        if self.applyset and self.prune:
            self._prune(self.applyset)
        self._delete_outdated_pods()
        if self.wait and not self.check and not self.recorder.result.errors:
            self._wait_ready()

    def _wait_for_deletion(self, items: Sequence[_Item]) -> None:
        """Wait until objects that are being deleted are gone, with what is in them; they are created again."""
        left: Mapping[Id, str] = {}
        if not self.check and items:
            left = self._waiter().until_gone([item.live for item in items if item.live])
        for item in items:
            if item.which in left:
                self._fail(item, "terminating", f"it is being deleted, but {left[item.which]}")
                continue
            if self.check:
                self.recorder.warn(f"{item.which} is being deleted; a real run would wait for that and recreate it.")
            inside = []
            if order.is_namespace(item.desired):
                inside = [inner for inner in self.items if inner.which.namespace == item.which.name]
                if self.applyset and self.applyset.namespace == item.which.name:
                    self.applyset.forget()
            for one in (item, *inside):
                one.live = None
                one.parent_missing = one.parent_missing or self.check

    def _may_write(self) -> bool:
        """Refuse objects of someone else, and fields that a controller would set again; complete the others with the labels of their owner."""
        for item in self._undecided():
            home = self.namespaces.get(item.which.namespace)
            if item.live is None or item.live["metadata"].get("uid") in self.proven or (home and home.which in self.failed):
                continue
            if why := owners.foreign_object_error(item.desired, item.live):
                self._fail(item, "foreign", why)
        if self._is_refused():
            return False
        for item in self._undecided():
            item.desired = proof.prepared(item.desired, item.live)
            managers = field_conflicts.reconcilers(item.live) if item.live else []
            may_be_hubs = self.part == owners.PART_SITE and order.is_namespace(item.desired)
            if item.live is None or not (managers or may_be_hubs) or not differs(item.desired, item.live, FIELD_MANAGER):
                continue
            try:
                if may_be_hubs and self._is_the_hubs(item):
                    item.change, item.now = "unchanged", item.live
                elif fields := self._contested_fields(item.desired, item.live, managers) if managers else {}:
                    self._fail(item, "held", field_conflicts.conflict_error(fields))
            except ApiError as error:
                self._fail(item, *results.describe_error(error))
        if self.applyset and self.prune:
            self._refuse_recreated(self.applyset.unlisted(self._listed()).to_delete)
        return not self._is_refused()

    def _is_the_hubs(self, item: _Item) -> bool:
        """Whether a site shares the Namespace with its hub: labels, such as the level of Pod Security, are then those of the hub."""
        try:
            return self.cluster.get("v1", "ConfigMap", owners.HUB_RECORD, item.which.name) is not None
        except Forbidden:
            return False

    def _contested_fields(self, desired: Object, live: Object, managers: Sequence[str]) -> dict[str, list[str]]:
        """Fields that an apply would take from these managers and change. Raises C(ApiError) if it would be refused anyway."""
        try:
            self.cluster.apply(desired, dry_run=True, force=False)
        except Conflict as error:
            fields = field_conflicts.conflicting_fields(error, managers)
            return field_conflicts.changed_fields(fields, live, self.cluster.apply(desired, dry_run=True)) if fields else {}
        return {}

    def _refuse_recreated(self, doomed: Iterable[Object]) -> None:
        for obj in doomed:
            if why := field_conflicts.recreated_by(obj):
                self._fail(None, "held", f"{id_of(obj)}: {why}")

    def _is_refused(self) -> bool:
        return any(one["category"] in ("foreign", "held", "unseen") for one in self.recorder.result.errors)

    def _write(self, item: _Item) -> None:
        home = self.namespaces.get(item.which.namespace) if item.which.namespace else None
        if home is not None and home.which in self.failed:
            self._fail(item, "not tried", f"not tried, because {home.which} failed")
            return
        if item.live is not None and not differs(item.desired, item.live, FIELD_MANAGER):
            item.change, item.now = "unchanged", item.live
            return
        try:
            if self.check and item.parent_missing:
                item.now = item.desired
            else:
                if not self.check and not self._is_served(item):
                    return
                item.now = self.cluster.apply(item.desired, dry_run=self.check)
                if not self.check and order.is_namespace(item.desired):
                    self._wait_usable(item)
        except ApiError as error:
            category, text = results.describe_error(error)
            if category == "immutable" and item.live is not None:
                parts = ", ".join(differing_parts(item.desired, item.live, FIELD_MANAGER))
                text = f"{text}. What differs: {parts}" if parts else text
            if not (self.check and category == "not found" and item.which.namespace):
                self._fail(item, category, text)
                return
            self.recorder.warn(f"{item.which}: {text}. Treated as if an earlier task created it.")
            item.now = item.desired
        if item.live is None:
            item.change = "created"
        else:
            item.change = "unchanged" if content(item.live) == content(item.now) else "changed"
        if item.change != "unchanged":
            self.recorder.show(item.which, item.live, item.now)

    def _wait_usable(self, item: _Item) -> bool:
        """Wait until other objects can use it: a Namespace is Active, a CRD is Established."""
        if item.now is None:
            return True
        seen, unready = self._waiter().until_ready([item.now])
        item.now = seen[item.which]
        if item.which in unready:
            self._fail(item, "not ready", unready[item.which])
        return not unready

    def _is_served(self, item: _Item) -> bool:
        """For an object of a kind whose CRD is in this list: wait until the API server serves it."""
        api_version, kind = item.desired["apiVersion"], item.desired["kind"]
        crd = self.crds.get((kinds.group_of(api_version), kind))
        if crd is None or not item.parent_missing:
            return True
        if crd.which in self.failed or not self._wait_usable(crd):
            self._fail(item, "not tried", f"not tried, because {crd.which} failed")
            return False

        def served() -> bool:
            try:
                self.cluster.resource(api_version, kind)
            except NotServed:
                return False
            return True

        if not self._waiter().until(served):
            self._fail(item, "not served", f"{api_version} is not served after {self.wait_timeout:g} s")
            return False
        return True

    def _delete_outdated_pods(self) -> None:
        """Delete pods that keep a former template, with which they can never be ready. In check mode, warn."""
        outcome = "would be deleted, and created again" if self.check else "was deleted, and is created again"
        for item in self.items:
            if item.now is None or item.live is None or item.change not in ("changed", "unchanged"):
                continue
            try:
                for pod in wait.outdated_pods(self.cluster, item.live, item.now, check=self.check):
                    if not self.check:
                        stuck_pods.replace_pod(self.cluster, pod)
                    which = Id("", "Pod", pod["metadata"]["namespace"], pod["metadata"]["name"])
                    self.recorder.record(which, "v1", "deleted")
                    self.recorder.warn(f"{which} {outcome}: {pod_health.RECREATED}.")
            except ApiError as error:
                text = results.describe_error(error)[1]
                self.recorder.warn(f"{item.which}: cannot check or replace its pods that may still have the former template: {text}")

    def _wait_ready(self) -> None:
        objects = [item.now for item in self.items if item.now is not None]
        seen, unready = Waiter(self.cluster, self.wait_timeout, self.image_seconds, self.away).until_ready(objects)
        for item in self.items:
            item.now = seen.get(item.which, item.now)
            if item.which in unready:
                change = item.change
                self._fail(item, "not ready", unready[item.which])
                item.change = change  # it was applied; only its readiness is wanting

    # ---- the set -----------------------------------------------------------------------------------------------------

    def _listed(self) -> dict[Id, str]:
        return {item.which: item.desired["apiVersion"] for item in self.items}

    def _update_record(self, own: Members, update: Callable[[Iterable[Id]], None], ids: Iterable[Id]) -> bool:
        home = self.namespaces.get(own.namespace)
        if home is not None and home.which in self.failed:
            self._fail(None, "not tried", f"nothing else was tried: {home.which}, which contains the record of the set, failed")
            return False
        try:
            update(ids)
        except ApiError as error:
            category, text = results.describe_error(error)
            self._fail(None, category, f"{own.which} (the record of the applyset): {text}")
            return False
        return True

    def _prune(self, own: Members) -> None:
        found = own.unlisted(self._listed())
        for place, why in found.forbidden.items():
            self.recorder.warn(
                f"Not pruned: {_members_at(place)}: {why}. The record of the set ({own.which}) keeps the kind for a later run."
            )
        gone = [obj for obj in found.to_delete if self._delete(obj)]
        if self.wait and gone and not self.check:
            self._wait_gone(gone, self._waiter())
        if not self.recorder.result.errors:
            self._update_record(own, own.narrow, [*self._listed(), *map(id_of, found.to_keep), *found.unseen])

    # ---- deleting, and state: absent ---------------------------------------------------------------------------------

    def _delete(self, obj: Object, item: _Item | None = None) -> bool:
        """Delete the object with this uid; whether it is deleted now or soon."""
        which, meta = id_of(obj), obj["metadata"]
        if meta.get("deletionTimestamp") and item is None:
            return True
        try:
            answer = self.cluster.delete(
                obj["apiVersion"], obj["kind"], which.name, which.namespace or None, dry_run=self.check, uid=meta.get("uid")
            )
        except ApiError as error:
            category, text = results.describe_error(error)
            if isinstance(error, Conflict):
                category, text = "conflict", "it was recreated by someone else during this run and is not changed"
            if item is not None:
                self._fail(item, category, text)
            elif category == "conflict":
                self.recorder.warn(f"{which}: {text} ({error.text})")
            else:
                self._fail(None, category, f"{which}: cannot be deleted: {text}")
            return False
        if item is not None:
            item.change = "unchanged" if answer is None else "deleted"
        elif answer is not None:
            self.recorder.record(which, obj["apiVersion"], "deleted")
        if answer is not None:
            self.recorder.show(which, obj, None)
        return answer is not None

    def _delete_all(self) -> None:
        doomed: list[tuple[Object, _Item | None]] = []
        kept: list[Object] = []
        if self.applyset:
            found = self.applyset.unlisted(self._listed())
            self._refuse_unseen(self.applyset, found)
            kept = found.to_keep
            doomed += [(obj, None) for obj in found.to_delete]
        for item in reversed(self._undecided()):
            if item.live is None:
                item.change = "unchanged"
            elif self.own_only and proof.is_strange(item.live) and not (item.which.kind == "Pod" and proof.is_managed(item.live)):
                self._fail(
                    item,
                    "foreign",
                    f"it {proof.holder(item.live)}, and this collection did not create it: it was not "
                    "deleted. Delete it manually if it is not needed.",
                )
            else:
                doomed.append((item.live, item))
        self._refuse_recreated(obj for obj, _item in doomed)
        if self._is_refused():
            return
        # Namespaces when everything else is gone: the namespace controller checks one with pods again only after half
        # of their grace period.
        waiter = self._waiter()
        for are_namespaces in (False, True):
            going = [obj for obj, item in doomed if order.is_namespace(obj) == are_namespaces and self._delete(obj, item)]
            if self.wait and not self.check and not self.recorder.result.errors:
                self._wait_gone(going, waiter)
        if self.applyset and not (kept or self.check or self.recorder.result.errors):
            try:
                self.applyset.delete()
            except Conflict:
                text = "(the record of the applyset) was changed by someone else during this run. Run again."
                self._fail(None, "conflict", f"{self.applyset.which} {text}")

    def _refuse_unseen(self, own: Members, found: Unlisted) -> None:
        """Refuse to remove a set of which members cannot be seen: without the record, no later run would find them."""
        for place, why in found.forbidden.items():
            if own.parent is None:
                self.recorder.warn(f"{own.which}, the record of the set, is missing, and {_members_at(place)} may belong to the set: {why}")
                continue
            group_kind = f"{place.kind}.{place.group}" if place.group else place.kind
            self._fail(
                None,
                "unseen",
                f"{_members_at(place)} may belong to the set: {why}. Nothing is deleted. Grant that right and run again; if there are "
                f"certainly none, remove {group_kind} from the annotation {sets.GROUP_KINDS} of {own.which}.",
            )

    def _wait_gone(self, objects: Sequence[Object], waiter: Waiter) -> None:
        for which, why in waiter.until_gone(objects).items():
            self._fail(None, "not gone", f"{which}: {why} after {self.wait_timeout:g} s")


def _members_at(place: Id) -> str:
    return f"objects of the kind {place.kind} in {f'namespace {place.namespace}' if place.namespace else 'the cluster'}"
