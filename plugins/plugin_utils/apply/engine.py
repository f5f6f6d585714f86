# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Apply a list of objects to one cluster: read, compare, patch what differs, prune, wait.

The parts are in their own files: order (input), live (reading), compare (would a patch change anything), applyset
(membership), mask and diff (what is shown), readiness and wait, errors. This file has only the sequence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..base import kinds
from ..base.errors import ClusterError
from ..kube import pod_health, stuck_pods
from ..kube.api_errors import ApiError, Conflict, Forbidden, NotServed
from ..kube.client import FIELD_MANAGER, Cluster
from ..marks import owners, proof
from . import applyset as sets
from . import field_conflicts, order, redacted_diff, results, wait
from .compare import content, difference, differing_parts
from .live_objects import Live, Unlisted, unlisted_members
from .order import Id, id_of
from .redacted_diff import Mask, content_digest
from .results import ApplyFailed, Result
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
    """Apply C(objects) to C(cluster) (C(state="present")), or delete them (C("absent")).

    C(applyset) names the set that records what was created; C(applyset_namespace) (default: the namespace of the first
    namespaced object) contains its record. C(prune) (default: with a set, yes) deletes members that are no longer listed.
    C(check): nothing is written. C(wait): until all are ready, or gone, for up to C(wait_timeout) seconds; C(image_seconds): how
    long nodes may fail to get an image, and C(away): DaemonSet -> how many of its nodes are not ready, see C(wait.Waiter).

    An object that is rendered as this collection's own never replaces one that someone else created (C(marks.proof)): then
    nothing at all is written. C(owner): whose deployment the set is (C(marks.record)), stored in its record; a set with
    another owner is refused unless C(claim) is true. C(own_only): with state absent, listed objects that this collection never
    wrote to are refused. C(part): of the set, only members of this part of the federation (C(marks.parts)) go.
    C(proven): uids of live objects that the caller knows to be of this collection, although another controller created them.
    C(named): kinds (group, kind) of which the caller names all members of the set in C(objects): they need not be listable.
    C(unrecorded): with state absent, kinds whose members are looked for in the whole cluster where the set has no record.

    With C(part) of a site, a Namespace that it shares with the hub stays as the hub applied it.

    A pod that is not ready and keeps the former template of its StatefulSet is deleted, see C(wait).

    Raises C(ApplyFailed) when objects failed, C(ClusterError) when the input is not usable.
    """
    work = _Apply(
        cluster, order.prepare(objects), check=check, show_diff=show_diff, wait=wait, wait_timeout=wait_timeout
    )
    work.image_seconds, work.away = image_seconds, away or {}
    work.own_only, work.part, work.proven = own_only, part, frozenset(proven)
    work.named = frozenset(named)
    work.unrecorded = frozenset(unrecorded) if state == "absent" else frozenset()
    if applyset:
        work.use_set(applyset, applyset_namespace, prune=prune is not False, owner=owner, claim=claim)
    elif prune:
        raise ClusterError(
            "prune needs the name of an applyset: without it the objects of this set cannot be identified."
        )
    return work.run(state)


@dataclass
class _Item:
    desired: Object
    which: Id
    live: Object | None = None
    now: Object | None = None
    change: str = ""
    #: created by an earlier item of this list (namespace, CRD) that check mode does not create
    foreseen: bool = False


class _Set:
    """The ApplySet of this run."""

    def __init__(
        self, name: str, namespace: str, prune: bool, owner: Mapping[str, str] | None = None, claim: bool = False
    ) -> None:
        self.name = name
        self.namespace = namespace
        self.prune = prune
        self.owner = owner
        self.claim = claim
        self.id = sets.set_id(name, namespace)
        self.parent: Object | None = None
        self.which = Id("", "ConfigMap", namespace, sets.parent_name(name))

    def notes(self) -> dict[str, str]:
        """The owner of the set: that of the live record, unless this run provides one."""
        return {**owners.kept_notes(self.parent), **(self.owner or {})}


class _Apply:
    def __init__(
        self, cluster: Cluster, objects: list[Object], *, check: bool, show_diff: bool, wait: bool, wait_timeout: float
    ) -> None:
        self.cluster = cluster
        self.check = check
        self.show_diff = show_diff
        self.wait = wait
        self.wait_timeout = wait_timeout
        self.items = [_Item(obj, id_of(obj)) for obj in objects]
        self.set: _Set | None = None
        self.result = Result()
        self.mask = Mask()
        self.live = Live(cluster, None)
        self.crds = {
            (item.desired["spec"]["group"], item.desired["spec"]["names"]["kind"]): item
            for item in self.items
            if order.is_crd(item.desired) and _is_whole_crd(item.desired)
        }
        self.namespaces = {item.which.name: item for item in self.items if order.is_namespace(item.desired)}
        self.image_seconds = 0.0
        self.away: Mapping[Id, int] = {}
        self.own_only = False
        self.proven: frozenset[str] = frozenset()
        self.named: frozenset[sets.GroupKind] = frozenset()
        self.unrecorded: frozenset[sets.GroupKind] = frozenset()
        self.part: str | None = None
        self._failed: set[Id] = set()
        self._learnt = False

    def use_set(
        self,
        name: str,
        namespace: str | None,
        *,
        prune: bool,
        owner: Mapping[str, str] | None = None,
        claim: bool = False,
    ) -> None:
        namespace = namespace or next((item.which.namespace for item in self.items if item.which.namespace), None)
        if not namespace:
            raise ClusterError("applyset needs applyset_namespace: no listed object has a namespace.")
        self.set = _Set(name, namespace, prune, owner, claim)
        self.live = Live(self.cluster, self.set.id)

    # ---- the run -----------------------------------------------------------------------------------------------------

    def run(self, state: str) -> Result:
        before = self.cluster.requests
        try:
            self._address(state)
            self._read()
            if state == "present":
                self._present()
            else:
                self._absent()
        except ApiError as error:
            self._note_error(None, "refused", error.message)
        except ClusterError as error:
            done = sum(1 for item in self.items if item.change)
            rest = f" ({done} of {len(self.items)} objects were done before)" if done else ""
            self._note_error(None, "unreachable", error.message + rest)
        return self._finish(before)

    def _finish(self, before: int) -> Result:
        result = self.result
        result.requests = self.cluster.requests - before
        for item in self.items:
            if item.change:
                written = item.desired if item.change in ("created", "changed") else None
                self._record(item.which, item.desired["apiVersion"], item.change, written)
        for text in self.cluster.warnings:
            self._warn(text)
        self.cluster.warnings.clear()
        result.changed = any(one["change"] in ("created", "changed", "deleted") for one in result.objects)
        result._live = [item.now for item in self.items if item.now is not None]
        result._mask = self.mask
        counts = Counter(one["change"] for one in result.objects)
        parts = [f"{counts[name]} {name}" for name in _ORDER_OF_COUNTS if counts[name]]
        result.msg = f"{', '.join(parts) or 'nothing to do'} on {self.cluster.name}"
        if result.errors:
            reported = "; ".join(one["message"] for one in result.errors)
            raise ApplyFailed(f"{result.msg}: {reported}" if parts else reported, result)
        return result

    def _record(self, which: Id, api_version: str, change: str, written: Object | None = None) -> None:
        reported = {
            "apiVersion": api_version,
            "kind": which.kind,
            "namespace": which.namespace,
            "name": which.name,
            "change": change,
        }
        sha256 = content_digest(written) if written else ""
        self.result.objects.append(reported | ({"sha256": sha256} if sha256 else {}))

    def _note_error(self, item: _Item | None, category: str, message: str) -> None:
        which = item.which if item else None
        text = self._safe(message, secret=which is not None and which.kind == "Secret")
        self.result.errors.append(
            {
                "apiVersion": item.desired["apiVersion"] if item else "",
                "kind": which.kind if which else "",
                "namespace": which.namespace if which else "",
                "name": which.name if which else "",
                "category": category,
                "message": f"{which}: {text}" if which else text,
            }
        )
        if item:
            item.change = "failed"
            self._failed.add(item.which)

    def _warn(self, text: str) -> None:
        text = self._safe(text)
        if text not in self.result.warnings:
            self.result.warnings.append(text)

    def _safe(self, text: str, *, secret: bool = False) -> str:
        if not self._learnt:
            self.mask.learn(item.desired for item in self.items)
            self._learnt = True
        return self.mask.text(text, secret=secret)

    def _show(self, which: Id, before: Object | None, after: Object | None) -> None:
        if self.show_diff:
            self.result.diff.append(redacted_diff.diff_entry(which, before, after, self.mask))

    # ---- before anything is written ----------------------------------------------------------------------------------

    def _address(self, state: str) -> None:
        """Find out how each object is addressed; complete or refuse it."""
        for item in self.items:
            obj = item.desired
            group = kinds.group_of(obj["apiVersion"])
            crd = self.crds.get((group, obj["kind"]))
            try:
                namespaced = self.cluster.resource(obj["apiVersion"], obj["kind"]).namespaced
            except NotServed as error:
                if crd is not None:
                    namespaced = crd.desired["spec"].get("scope", "Namespaced") == "Namespaced"
                    item.foreseen = True
                elif state == "absent":
                    item.change = "unchanged"  # where the kind is unknown, there is no such object
                    continue
                elif self.check:
                    namespaced = bool(item.which.namespace)
                    item.foreseen = True
                    self._warn(f"{item.which}: {error.text}. Treated as if an earlier task installed it.")
                else:
                    self._note_error(item, "not served", error.text)
                    continue
            if not namespaced and item.which.namespace:
                del obj["metadata"]["namespace"]
                item.which = id_of(obj)
            elif namespaced and not item.which.namespace:
                self._note_error(item, "invalid", "metadata.namespace is missing")
                continue
            if self.set and sets.is_member_kind(group, obj["kind"]):
                item.desired = sets.with_label(obj, self.set.id)

    def _open_items(self) -> list[_Item]:
        """Items about which nothing is decided yet."""
        return [item for item in self.items if not item.change]

    def _read(self) -> None:
        """Namespaces first: what is in an absent one need not be read."""
        self._read_items([item for item in self.namespaces.values() if not item.change], by_set=False)
        absent = {name for name, item in self.namespaces.items() if item.live is None}
        if self.set and self.set.namespace not in absent:
            self.set.parent = self.cluster.get("v1", "ConfigMap", self.set.which.name, self.set.namespace)
            owner = sets.foreign_tool(self.set.parent)
            if owner:
                raise ClusterError(
                    f"{self.set.which} exists already and was created by {owner}: choose another applyset."
                )
            stranger = "" if self.set.claim else owners.other_deployment_error(self.set.parent, self.set.owner or {})
            if stranger:
                raise ClusterError(f"{self.cluster.name}: {stranger}")
        rest = []
        for item in self._open_items():
            if item.which.name in self.namespaces and order.is_namespace(item.desired):
                continue
            if item.which.namespace in absent:
                item.foreseen = True
            elif not item.foreseen:
                rest.append(item)
        self._read_items(rest, by_set=self.set is not None and self.set.parent is not None)

    def _read_items(self, items: Sequence[_Item], *, by_set: bool) -> None:
        try:
            found = self.live.read([item.desired for item in items], by_set=by_set)
            for item in items:
                item.live = found[item.which]
        except ApiError:
            # somewhere in between; read one by one, so that the error has the name of its object
            for item in items:
                try:
                    item.live = self.live.get(item.desired)
                except ApiError as error:
                    self._note_error(item, *results.describe_error(error))

    # ---- state: present ----------------------------------------------------------------------------------------------

    def _present(self) -> None:
        clock_items = [
            item for item in self._open_items() if item.live and item.live["metadata"].get("deletionTimestamp")
        ]
        if clock_items:
            self._await_departure(clock_items)
        if self._refuse_foreign() or self._refuse_held():
            return
        first = [item for item in self._open_items() if order.is_namespace(item.desired)]
        rest = [item for item in self._open_items() if not order.is_namespace(item.desired)]
        for item in first:
            self._apply(item)
        if self.set and not self._widen_set(self.set):
            return
        for item in rest:
            self._apply(item)
        if self.result.errors:
            return
        if self.set and self.set.prune:
            self._prune(self.set)
        self._delete_outdated()
        if self.wait and not self.check and not self.result.errors:
            self._wait_ready()

    def _delete_outdated(self) -> None:
        """Delete pods that would keep a former template, with which they can never be ready. In check mode, look once and tell."""
        for item in self.items:
            if item.now is None or item.live is None or item.change not in ("changed", "unchanged") or not wait.may_have_outdated_pods(item.now):
                continue
            try:
                for pod in self._find_outdated(item.live, item.now):
                    self._replace(pod)
            except ApiError as error:
                self._warn(f"{item.which}: whether its pods wait for a new template cannot be seen or changed: {results.describe_error(error)[1]}")

    def _find_outdated(self, live: Object, now: Object) -> list[Object]:
        if not self.check:
            return wait.find_outdated_pods(self.cluster, now)
        changes = live["spec"]["template"] != now["spec"]["template"]
        return wait.find_outdated_pods(self.cluster, live, seconds=0, changes=changes)

    def _replace(self, pod: Object) -> None:
        which = Id("", "Pod", pod["metadata"]["namespace"], pod["metadata"]["name"])
        if not self.check:
            stuck_pods.replace_pod(self.cluster, pod)
        self._record(which, "v1", "deleted")
        said = "would be deleted, and created again" if self.check else "was deleted, and is created again"
        self._warn(f"Pod {which.namespace}/{which.name} {said}: {pod_health.WORDS}.")

    def _refuse_foreign(self) -> bool:
        """Refuse what someone else created, before anything is written; else return what exactly is applied."""
        for item in self._open_items():
            if item.live is not None and item.live["metadata"].get("uid") in self.proven:
                continue
            home = self.namespaces.get(item.which.namespace)
            why = "" if home is not None and home.which in self._failed else owners.foreign_object_error(item.desired, item.live)
            if why:
                self._note_error(item, "foreign", why)
        if self._is_refused():
            return True
        for item in self._open_items():
            item.desired = proof.prepared(item.desired, item.live)
            if self._is_the_hubs(item):
                item.change, item.now = "unchanged", item.live
        return False

    def _is_the_hubs(self, item: _Item) -> bool:
        """Whether a site would change the Namespace of the hub, which shares it: labels, such as the level of Pod Security, are those of the hub."""
        if self.part != owners.PART_SITE or not order.is_namespace(item.desired) or item.live is None:
            return False
        if not difference(item.desired, item.live, FIELD_MANAGER):
            return False
        try:
            return self.cluster.get("v1", "ConfigMap", owners.HUB_RECORD, item.which.name) is not None
        except Forbidden:
            return False

    def _refuse_held(self) -> bool:
        """Refuse to write what a controller would set or create again, before anything is written."""
        for item in self._open_items():
            managers = field_conflicts.reconcilers(item.live) if item.live is not None else []
            if item.live is None or not managers or not difference(item.desired, item.live, FIELD_MANAGER):
                continue
            try:
                fields = self._held_fields(item.desired, item.live, managers)
            except ApiError as error:
                self._note_error(item, *results.describe_error(error))
                continue
            if fields:
                self._note_error(item, "held", field_conflicts.conflict_error(fields))
        if self.set and self.set.prune:
            going, _staying = self._strays(self._unlisted(self.set))
            self._refuse_return(going)
        return self._is_refused()

    def _held_fields(self, desired: Object, live: Object, managers: Sequence[str]) -> dict[str, list[str]]:
        """Fields that an apply would take from these managers and change. Raises C(ApiError) if it would be refused anyway."""
        try:
            self.cluster.apply(desired, dry_run=True, force=False)
        except Conflict as error:
            fields = field_conflicts.conflicting_fields(error, managers)
            return field_conflicts.changed_fields(fields, live, self.cluster.apply(desired, dry_run=True)) if fields else {}
        return {}

    def _refuse_return(self, doomed: Iterable[Object]) -> None:
        """Refuse to delete what a controller would create again, before anything is written."""
        for obj in doomed:
            why = field_conflicts.recreated_by(obj)
            if why:
                self._note_error(None, "held", f"{id_of(obj)}: {why}")

    def _is_refused(self) -> bool:
        return any(one["category"] in ("foreign", "held", "unseen") for one in self.result.errors)

    def _await_departure(self, items: Sequence[_Item]) -> None:
        """Objects that are being deleted: wait until they are gone, then recreate them."""
        if self.check:
            for item in items:
                self._warn(f"{item.which} is being deleted; a real run would wait for that and recreate it.")
                for one in [item, *self._inside(item)]:
                    one.live = None
                    one.foreseen = True
            return
        left = Waiter(self.cluster, self.wait_timeout).until_gone([item.live for item in items if item.live])
        for item in items:
            if item.which in left:
                self._note_error(item, "terminating", f"it is being deleted, but {left[item.which]}")
                continue
            item.live = None
            for inner in self._inside(item):
                inner.live = None

    def _inside(self, item: _Item) -> list[_Item]:
        """What goes with a Namespace: the listed objects in it. The record of the set is dropped if it is among them."""
        if not order.is_namespace(item.desired):
            return []
        if self.set and self.set.namespace == item.which.name:
            self.set.parent = None
            self.live = Live(self.cluster, self.set.id)
        return [inner for inner in self.items if inner.which.namespace == item.which.name]

    def _apply(self, item: _Item) -> None:
        home = self.namespaces.get(item.which.namespace) if item.which.namespace else None
        if home is not None and home.which in self._failed:
            self._note_error(item, "not tried", f"not tried, because {home.which} failed")
            return
        if item.live is not None and not difference(item.desired, item.live, FIELD_MANAGER):
            item.change, item.now = "unchanged", item.live
            return
        try:
            if self.check and item.foreseen:
                item.now = item.desired
            else:
                if not self.check and not self._is_served(item):
                    return
                item.now = self.cluster.apply(item.desired, dry_run=self.check)
                if not self.check and order.is_namespace(item.desired):
                    self._await_active(item)
        except ApiError as error:
            category, text = results.describe_error(error)
            if category == "immutable" and item.live is not None:
                parts = ", ".join(differing_parts(item.desired, item.live, FIELD_MANAGER))
                text = f"{text}. What differs: {parts}" if parts else text
            if not (self.check and category == "not found" and item.which.namespace):
                self._note_error(item, category, text)
                return
            self._warn(f"{item.which}: {text}. Treated as if an earlier task created it.")
            item.now = item.desired
        if item.live is None:
            item.change = "created"
        else:
            item.change = "unchanged" if content(item.live) == content(item.now) else "changed"
        if item.change != "unchanged":
            self._show(item.which, item.live, item.now)

    def _await_active(self, item: _Item) -> None:
        """A new namespace is Active at once, as a rule."""
        phase = ((item.now or {}).get("status") or {}).get("phase")
        if phase != "Active" and item.now is not None:
            seen, unready = Waiter(self.cluster, self.wait_timeout).until_ready([item.now])
            item.now = seen[item.which]
            if item.which in unready:
                self._note_error(item, "not ready", unready[item.which])

    def _is_served(self, item: _Item) -> bool:
        """For an object of a kind whose CRD is in this list: wait until the API server serves it."""
        api_version, kind = item.desired["apiVersion"], item.desired["kind"]
        crd = self.crds.get((kinds.group_of(api_version), kind))
        if crd is None or not item.foreseen:
            return True
        if crd.which in self._failed:
            self._note_error(item, "not tried", f"not tried, because {crd.which} failed")
            return False
        if crd.now is not None:
            seen, unready = Waiter(self.cluster, self.wait_timeout).until_ready([crd.now])
            crd.now = seen[crd.which]
            if unready:
                self._note_error(crd, "not ready", unready[crd.which])
                self._note_error(item, "not tried", f"not tried, because {crd.which} failed")
                return False

        def served() -> bool:
            try:
                self.cluster.resource(api_version, kind)
            except NotServed:
                return False
            return True

        if not Waiter(self.cluster, self.wait_timeout).until(served):
            self._note_error(item, "not served", f"{api_version} is not served after {self.wait_timeout:g} s")
            return False
        return True

    # ---- the set -----------------------------------------------------------------------------------------------------

    def _wanted_set(self, own: _Set) -> tuple[set[sets.GroupKind], set[str]]:
        return sets.kinds_and_namespaces((item.which for item in self.items), own.namespace)

    def _widen_set(self, own: _Set) -> bool:
        home = self.namespaces.get(own.namespace)
        if home is not None and home.which in self._failed:
            self._note_error(
                None, "not tried", f"nothing else was tried: {home.which}, which contains the record of the set, failed"
            )
            return False
        old_kinds, old_namespaces = sets.noted(own.parent)
        new_kinds, new_namespaces = self._wanted_set(own)
        return self._write_parent(own, old_kinds | new_kinds, old_namespaces | new_namespaces)

    def _write_parent(self, own: _Set, group_kinds: Iterable[sets.GroupKind], namespaces: Iterable[str]) -> bool:
        """Update the record; it counts as a change only together with a change of members."""
        wanted = sets.parent_object(own.name, own.namespace, group_kinds, namespaces, own.notes())
        if self.check or (own.parent is not None and not difference(wanted, own.parent, FIELD_MANAGER)):
            return True
        try:
            own.parent = self.cluster.apply(wanted)
        except ApiError as error:
            category, text = results.describe_error(error)
            self._note_error(None, category, f"{own.which} (the record of the applyset): {text}")
            return False
        return True

    def _strays(self, found: Unlisted) -> tuple[list[Object], list[Object]]:
        """Members that are not listed: those that go, and those that the other part of the federation needs."""
        if not self.part:
            return found.strays, []
        all_bindings = not any(place.kind in owners.BINDINGS for place in found.unseen)
        needed = owners.needed_by_others(found.strays, self.part, all_bindings=all_bindings)
        return [obj for obj in found.strays if obj not in needed], needed

    def _unlisted(self, own: _Set) -> Unlisted:
        listed = {item.which: item.desired["apiVersion"] for item in self.items}
        return unlisted_members(self.cluster, self.live, own.parent, listed, self.named, self.unrecorded)

    def _prune(self, own: _Set) -> None:
        found = self._unlisted(own)
        for place, why in found.forbidden.items():
            self._warn(
                f"Not pruned: {_members_at(place)}: {why}. The record of the set ({own.which}) keeps the kind for a later run."
            )
        going, staying = self._strays(found)
        gone = [obj for obj in going if self._delete(obj)]
        if self.wait and gone and not self.check:
            self._wait_gone(gone)
        if not self.result.errors:
            left = [*(item.which for item in self.items), *map(id_of, staying), *found.unseen]
            self._write_parent(own, *sets.kinds_and_namespaces(left, own.namespace))

    def _delete(self, obj: Object, item: _Item | None = None) -> bool:
        """Delete this very object. True if it is going."""
        which, meta = id_of(obj), obj["metadata"]
        if meta.get("deletionTimestamp") and item is None:
            return True
        try:
            answer = self.cluster.delete(
                obj["apiVersion"],
                obj["kind"],
                which.name,
                which.namespace or None,
                dry_run=self.check,
                uid=meta.get("uid"),
            )
        except Conflict as error:
            text = "it was recreated by someone else during this run and is not changed"
            if item is not None:
                self._note_error(item, "conflict", text)
            else:
                self._warn(f"{which}: {text} ({error.text})")
            return False
        except ApiError as error:
            category, text = results.describe_error(error)
            if item is not None:
                self._note_error(item, category, text)
            else:
                self._note_error(None, category, f"{which}: cannot be deleted: {text}")
            return False
        if item is not None:
            item.change = "unchanged" if answer is None else "deleted"
        elif answer is not None:
            self._record(which, obj["apiVersion"], "deleted")
        if answer is not None:
            self._show(which, obj, None)
        return answer is not None

    # ---- state: absent -----------------------------------------------------------------------------------------------

    def _absent(self) -> None:
        doomed: list[tuple[Object, _Item | None]] = []
        staying: list[Object] = []
        if self.set:
            found = self._unlisted(self.set)
            self._refuse_unseen(self.set, found)
            going, staying = self._strays(found)
            doomed += [(obj, None) for obj in going]
        for item in reversed(self._open_items()):
            if item.live is None:
                item.change = "unchanged"
            elif self.own_only and proof.is_strange(item.live) and not (item.which.kind == "Pod" and proof.is_managed(item.live)):
                self._note_error(
                    item,
                    "foreign",
                    f"it {proof.holder(item.live)}, and this collection did not create it: it is not deleted. "
                    "Delete it by hand if it is not needed.",
                )
            else:
                doomed.append((item.live, item))
        self._refuse_return(obj for obj, _item in doomed)
        if self._is_refused():
            return
        # Namespaces when everything else is gone: the namespace controller checks one with pods again only after half
        # of their grace period.
        spaces = [pair for pair in doomed if order.is_namespace(pair[0])]
        waiter = Waiter(self.cluster, self.wait_timeout)
        for batch in ([pair for pair in doomed if not order.is_namespace(pair[0])], spaces):
            going = [obj for obj, item in batch if self._delete(obj, item)]
            if self.wait and not self.check and not self.result.errors:
                self._wait_gone(going, waiter)
        if self.result.errors or self.check:
            return
        if self.set and self.set.parent is not None and not staying:
            self._delete_parent(self.set, self.set.parent)

    def _refuse_unseen(self, own: _Set, found: Unlisted) -> None:
        """Refuse to remove a set of which members cannot be seen: without the record, no later run would find them."""
        for place, why in found.forbidden.items():
            if own.parent is None:
                self._warn(f"{own.which}, the record of the set, is missing, and {_members_at(place)} may belong to the set: {why}")
                continue
            group_kind = f"{place.kind}.{place.group}" if place.group else place.kind
            self._note_error(
                None,
                "unseen",
                f"{_members_at(place)} may belong to the set: {why}. Nothing is deleted. Grant that right and run again; if there are "
                f"certainly none, remove {group_kind} from the annotation {sets.GROUP_KINDS} of {own.which}.",
            )

    def _delete_parent(self, own: _Set, parent: Object) -> None:
        """Delete the record, as long as it is the one that was read: another run may have added members since."""
        meta = parent["metadata"]
        try:
            self.cluster.delete(
                "v1",
                "ConfigMap",
                own.which.name,
                own.namespace,
                uid=meta["uid"],
                version=meta["resourceVersion"],
                propagation="Background",
            )
        except Conflict:
            self._note_error(
                None,
                "conflict",
                f"{own.which} (the record of the applyset) was changed by someone else during this run. Run again.",
            )

    # ---- waiting -----------------------------------------------------------------------------------------------------

    def _wait_ready(self) -> None:
        objects = [item.now for item in self.items if item.now is not None]
        seen, unready = Waiter(self.cluster, self.wait_timeout, self.image_seconds, self.away).until_ready(objects)
        for item in self.items:
            item.now = seen.get(item.which, item.now)
            if item.which in unready:
                change = item.change
                self._note_error(item, "not ready", unready[item.which])
                item.change = change  # it was applied; only its readiness is wanting

    def _wait_gone(self, objects: Sequence[Object], waiter: Waiter | None = None) -> None:
        left = (waiter or Waiter(self.cluster, self.wait_timeout)).until_gone(objects)
        for which, why in left.items():
            self._note_error(None, "not gone", f"{which}: {why} after {self.wait_timeout:g} s")


def _members_at(place: Id) -> str:
    return f"objects of the kind {place.kind} in {f'namespace {place.namespace}' if place.namespace else 'the cluster'}"


def _is_whole_crd(obj: Mapping[str, Any]) -> bool:
    spec = obj.get("spec")
    return (
        isinstance(spec, Mapping)
        and "group" in spec
        and isinstance(spec.get("names"), Mapping)
        and "kind" in spec["names"]
    )
