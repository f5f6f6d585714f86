# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A site that gives no access: it gets files, applies them itself, and sends a file with its public keys.

Nothing is known of its cluster but what it replied, and what the SuperLink knows of its SuperNodes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ..base import formats, object_names
from ..base.errors import ClusterError
from ..base.formats import named_hosts
from ..base.names import PUBLIC_KEYS
from ..base.problems import require
from ..base.values import Object
from ..checks import dataset_checks
from ..hub.authority import trust_bundle
from ..hub.client_store import ClientStore
from ..kube.client import Cluster
from ..pki import certificates, keypairs, library
from ..rotation.site_proof import Proof
from ..site_keys import keys, public
from ..spec.part_spec import NOTHING
from ..spec.site_spec import SiteSpec
from ..state import records
from ..state.ledger import Ledger
from ..state.site_indexes import Files
from . import beside_hub, workloads
from . import bundle_draft as drafts
from .bundle_draft import Draft
from .bundle_keeper import Brought, Keeper
from .key_sources import wanted
from .site import Done, Facts, KeysMade, Looked, Pulled, Restart, Run, Site

_NO_ACCESS = "the site gives no access"
_UNKNOWN = f"{_NO_ACCESS}: its pods cannot be asked"
_SHOWN = ", and everyone who gets the bundle sees it. Have the site put it into a Secret of its own, and refer to that with valueFrom.secretKeyRef."
_HUB_SECONDS = 30
JOIN = "federated.flower.join -e flower_bundle_reply=FILE"


class Way:
    """See C(site.Reach).

    Args:
        run: the run.
        site: the site.
    """

    def __init__(self, run: Run, site: Site) -> None:
        self.run, self.site = run, site
        self._hub: Cluster | None = None
        self._keeper: Keeper | None = None
        self._needed = keys.Wanted([])
        self._serving: dict[str, dict[str, str]] = {}
        self._dead: list[str] = []
        self._extra: dict[str, list[str]] = {}
        self._lacks = False
        self._shared: SiteSpec | None = None  # as its variables have it, where it is in the hub's namespace

    @property
    def hub(self) -> Cluster:
        """The connection to the hub, which is opened on first use."""
        if self._hub is None:
            self._hub = self.run.connect(self.site.hub)
        return self._hub

    @property
    def keeper(self) -> Keeper:
        """The site's bundle."""
        if self._keeper is None:
            self._keeper = keeper_of(self.run, self.hub, self.site)
        return self._keeper

    def settle(self) -> None:
        """See C(site.Reach). Nothing can be seen of its cluster: it is Kubernetes, unless its variables say otherwise.

        That it is the hub's own one shows when its job has published its keys. Until its first reply, the bundle sets no Pod Security level
        where the hub's namespace of that name has another one.
        """
        site = self.site
        if not beside_hub.is_possible(site):
            return
        seen = self.keeper.published
        if beside_hub.has_published(self.hub, site.spec, seen):
            self._shared = site.spec
        if self._shared is not None or (not seen.lines and beside_hub.differs(self.hub, site.spec)):
            site.spec = beside_hub.without_level(site.spec)

    def rest(self) -> None:
        """See C(site.Reach)."""
        if self._hub is not None:
            self._hub.close()

    def preflight(self, hub: Facts) -> Looked:
        """See C(site.Reach). There is nothing to look at but the hub."""
        library.require()
        if self._shared is not None:
            beside_hub.refuse_level(self.hub, self._shared, hub.get("pod_security"))
        if hub.get("client_certificates") == "none" and self.keeper.store.read() is None:
            raise ClusterError(
                "the CA of client certificates signs bundles, and the hub has none: set superlink_client_certificates to required or optional "
                "(flower_mtls to true), or another flower_delivery for this site."
            )
        warnings: list[str] = []
        if any(pool.datasets for pool in self.site.spec.pools):
            before = self.keeper.draft
            known = [name for one in before.objects for name in object_names.mounted_datasets(one)] if before else []
            warnings = require(dataset_checks.unseen(self.site.spec, known, why=_NO_ACCESS))
        return Looked("the site gives no access: it gets a bundle of files, and nothing in its cluster was looked at", warnings)

    def numbers(self) -> dict[str, tuple[int, int]]:
        """See C(site.Reach). According to its last reply."""
        found = {}
        for pool in self.keeper.published.pools:
            if pool.offset is not None and pool.names:
                found[pool.name] = (pool.offset, len(pool.names))
        return found

    def make_keys(self, allocation: Mapping[str, Any], dead: Sequence[str]) -> KeysMade:
        """See C(site.Reach). What is missing is asked for in the next version; until it is answered, the keys that are in use stay."""
        spec, keeper = self.site.spec, self.keeper
        before = keeper.draft
        pending = list(before.request.get("dead", [])) if before else []
        needed, _ready = wanted(self.site.name, spec, allocation, [*dead, *pending], list)
        published = keeper.published
        held = {keypairs.fingerprint(line) for lines in published.lines.values() for line in lines.values()}
        if published.client_request:
            held.add(certificates.request_fingerprint(published.client_request))
        # What the site does not have any more need not be replaced.
        self._dead = sorted({one for one in needed.dead if one in held})
        self._needed = keys.Wanted(needed.pools, self._dead, needed.client, needed.listener)
        found = public.survey(self._needed, published)
        record = keeper.ledger.read_record(self.site.name)
        in_use = self._in_use(needed.pools, published, set(dead), record)
        self._serving = {}
        for key in in_use:
            self._serving.setdefault(key["pool"], {})[key["name"]] = key["fingerprint"]
        self._extra = found.extra
        self._lacks = bool(found.reasons)
        client = record.get("client") if record else None
        rekeyed = bool(found.client_request) and (
            not client or certificates.request_fingerprint(found.client_request) != client["key"]
        )
        count = len(in_use)
        return KeysMade(
            keys=in_use,
            client_request=found.client_request,
            by_hand=True,
            settled=keeper.is_settled and not rekeyed,
            certificate=NOTHING,
            msg="; ".join(found.reasons) or f"{count} keys, all there",
        )

    def _in_use(
        self, pools: Sequence[keys.Pool], published: public.Public, dead: set[str], record: records.Record | None
    ) -> list[Facts]:
        """The keys that the hub admits: those of the last reply but for those that can never serve again; before it, those of the ledger."""
        known = (record or {}).get("keys", {})
        if not published.versions:
            return [
                {**keys.key_facts(key["pool"], key["name"], key["public_key"]), "expected": True}
                for fingerprint, key in known.items()
                if not key.get("leaving") and not key.get("dead") and key.get("public_key")
            ]
        found = []
        for pool in pools:
            settled = keys.settle(
                pool, published.lines.get(pool.name, {}), published.offsets.get(pool.name), lambda _line: False
            )
            for name in pool.names:
                if name not in settled.kept:
                    continue
                facts = keys.key_facts(pool.name, name, settled.kept[name])
                held = known.get(facts["fingerprint"])
                if facts["fingerprint"] in dead and (held is None or held.get("dead")):
                    continue
                found.append({**facts, "expected": True})
        return found

    def apply(self, objects: Sequence[Object], gate: Callable[[], None]) -> Done:
        """See C(site.Reach). Files are written; the site applies them."""
        if self.run.rendering:
            return Done()  # its bundle has what it applies
        spec, keeper = self.site.spec, self.keeper
        before = keeper.draft
        made = drafts.draft(
            spec,
            objects,
            self._request(before),
            hub=self.site.identity,
            serving=self._serving,
            certified=not spec.shows_certificate or spec.client_certificate not in ("", NOTHING),
            before=before,
            marks=keeper.published.marks,
            lacks=self._lacks,
        )
        done = self._done(keeper.bring(made, spec.bundle_directory))
        if done.changed:
            done.warnings += [f"{self.site.name}: {one}{_SHOWN}" for one in formats.shown_value(made.objects)]
        return done

    def _request(self, before: Draft | None) -> dict[str, Any]:
        needed, published = self._needed, self.keeper.published
        return drafts.request_of(
            self.site.spec,
            [{"name": pool.name, "names": list(pool.names), "offset": pool.offset} for pool in needed.pools],
            dead=self._dead,
            client=needed.client,
            listener=needed.listener,
            drop={pool: list(names) for pool, names in sorted(self._extra.items())},
            renew=dict(before.request.get("renew", {})) if before else {},
            known_pools=sorted(pool.name for pool in published.pools),
        )

    def pull(self, objects: Sequence[Object], seconds: int) -> Pulled:
        """See C(site.Reach)."""
        return Pulled(skipped="the site gives no access: its images are pulled when its SuperNodes are replaced")

    def apply_apps(self, objects: Sequence[Object], gate: Callable[[], None], seconds: int) -> Done:
        """See C(site.Reach)."""
        before = self._present()
        return self._done(self.keeper.bring(drafts.with_objects(before, objects, before.serving), self.site.spec.bundle_directory))

    def restart(self, wanted: Restart, result: Facts) -> None:
        """See C(site.Reach). The next version restarts them where they must; a demand for new secrets is one for a reply."""
        if not wanted.mark:
            return
        before = self._present()
        done = keys.SUPEREXEC in self.keeper.published.versions and (
            self.keeper.published.marks.get(keys.SUPEREXEC) == wanted.mark
        )
        result["renewed"] = done
        if done:
            return
        brought = self.keeper.bring(drafts.with_mark(before, {keys.SUPEREXEC: wanted.mark}), self.site.spec.bundle_directory)
        self._note(brought)
        result["changed"] |= brought.changed
        raise ClusterError(f"bundle version {brought.version} in {brought.path} recreates its secrets: {self._steps()}")

    def trust(self, wanted: Proof, result: Facts) -> None:
        """See C(site.Reach). What its last reply proves counts; its pods cannot be asked."""
        if wanted.own_bundle and wanted.bundle:
            raise ClusterError(
                "its CA bundle is set by its variables (supernode_ca_bundle), so it is not changed: add the new CA there, or remove the variable"
            )
        before = self._present()
        if wanted.bundle and trust_bundle(before.trust) != trust_bundle(wanted.bundle):
            made = drafts.with_trust(before, wanted.bundle, restart=not self.site.spec.has_sidecar)
            brought = self.keeper.bring(made, self.site.spec.bundle_directory)
            self._note(brought)
            result["changed"] |= brought.changed
        trusted = self.keeper.trusted
        if trusted:
            result.update(
                trust=trusted,
                accepts=sorted({serial for serial in wanted.wanted.values() if serial}),
                msg="its pods were not asked: it gives no access, and its reply proves that it has their CA bundle",
            )
        elif not wanted.first:
            raise ClusterError(f"that it has the CA bundle of bundle version {self.keeper.version} is not proven: {self._steps()}")

    def _present(self) -> Draft:
        found = self.keeper.draft
        if found is None or found.leaving:
            raise ClusterError("no bundle was written for it: run site.yml for this site")
        return found

    def measure(self, published: Mapping[str, str], idle: float = 0) -> dict[str, Facts] | None:
        """See C(site.Reach). Its pods cannot be asked."""
        return None

    def offline(self) -> str:
        """See C(site.Reach)."""
        return state_of(self.keeper)

    def cut_off(self) -> tuple[str, str]:
        """See C(site.Reach)."""
        return "", ""

    def pods(self) -> list[Object] | None:
        """See C(site.Reach)."""
        return None

    def restart_pods(self, pods: Sequence[Object]) -> None:
        """See C(site.Reach)."""
        raise ClusterError(f"{self.site.name}: {_UNKNOWN}")

    def drop_keys(self, extra: Mapping[str, Sequence[str]]) -> None:
        """See C(site.Reach). The job of the next version drops them."""

    def remove(self, *, volumes: bool) -> Done:
        """See C(site.Reach). The list of what the site's administrators delete is written; their cluster is not touched."""
        before = self.keeper.draft
        if before is None:
            return Done(msg="no bundle was written for it: there is nothing to remove")
        before.leaving = True
        done = self._done(self.keeper.bring(before, self.site.spec.bundle_directory), remind=False)
        path = f"{self.site.spec.bundle_directory}/{self.site.name}/UNINSTALL.md"
        done.msg = f"nothing was deleted in its cluster, to which there is no access: its administrators delete what {path} lists"
        done.warnings.append(f"{self.site.name}: {done.msg}")
        return done

    def _done(self, brought: Brought, *, remind: bool = True) -> Done:
        self._note(brought)
        made = [f"bundle version {brought.version} {'to write' if self.run.check else 'is'} in {brought.path}"]
        files = Files(brought.version, self.keeper.answered)
        done = Done(changed=brought.changed, diff=brought.diff if self.run.show_diff else [], msg=made[0], files=files)
        if remind and (steps := self._steps(brought)):
            done.warnings.append(f"{self.site.name}: bundle version {brought.version} in {brought.path}, signed by the CA {self.keeper.signer()}: {steps}")
        return done

    def _note(self, brought: Brought) -> None:
        if brought.new and self.run.check:
            content = f", content {brought.content}" if brought.content else ""
            self.run.note(self.site.name, words=[f"bundle version {brought.version} to write{content}"])
        elif brought.new:
            self.run.note(self.site.name, words=[f"bundle version {brought.version} written, SHA256SUMS {self.keeper.state['sums']}"])

    def _steps(self, brought: Brought | None = None) -> str:
        """What the site has to do next; empty where it has answered everything that was asked."""
        if self.run.check and brought is not None and brought.new:
            return ""
        return next_steps(self.keeper)


def keeper_of(run: Any, hub: Cluster, site: Site) -> Keeper:
    """The bundle of a site."""
    ledger = Ledger(hub, site.hub_namespace, site.federation, check=run.check)

    def note(name: str | None = None, **facts: Iterable[Any]) -> None:
        run.note(name or site.hub, **facts)

    return Keeper(site.name, ledger, ClientStore(hub, site.hub_namespace, ledger, note=note, check=run.check), check=run.check)


def is_open(keeper: Keeper) -> bool:
    """Whether the present version asks for what the last reply does not answer."""
    made, asked = keeper.draft, keeper.state.get("asked", {})
    if made is None or made.leaving:
        return False
    answered = asked.get(str(keeper.answered)) or {}
    return not keeper.trusted or (made.open and answered.get("digest") != asked[str(keeper.version)]["digest"])


def next_steps(keeper: Keeper) -> str:
    """What has to be done next, for a version that waits for a reply; empty for another."""
    if not is_open(keeper):
        return ""
    space = keeper.state["draft"]["facts"]["namespace"]
    return (
        "the site checks it (with the commands of the guide on bundles), applies it (kubectl apply -k .), and sends back what "
        f"kubectl get configmap {PUBLIC_KEYS} -n {space} -o json prints; then run {JOIN}"
    )


def state_of(keeper: Keeper) -> str:
    """A sentence on a site's bundle."""
    if not keeper.version:
        return "No bundle was written for it."
    answered = f"the site has answered version {keeper.answered}" if keeper.answered else "the site has not answered yet"
    return f"Bundle version {keeper.version} was written on {keeper.state['written']}, {answered}; whether it is applied is not known here."


def statuses(run: Run, sites: Sequence[Site], seconds: int, workers: int) -> dict[str, Facts]:
    """See C(site.Statuses). What the hub knows of their bundles; the SuperLink is asked by others."""
    found = {site.name: workloads.unknown() for site in sites}
    for host in dict.fromkeys(site.hub for site in sites):
        own = [site for site in sites if site.hub == host]
        try:
            with run.connect(host, timeout=max(seconds, _HUB_SECONDS)) as hub:
                for site in own:
                    keeper = keeper_of(run, hub, site)
                    found[site.name] |= {"bundle": _status(keeper), "bundle_workloads": _workloads(keeper.draft)}
        except ClusterError as error:
            for site in own:
                found[site.name].update(reachable=False, error=named_hosts(site.name, error.message))
    return found


def _workloads(draft: Draft | None) -> list[Facts]:
    """The workloads of the present version, which its people may not have applied yet."""
    objects = [] if draft is None or draft.leaving else draft.objects
    return [workloads.workload(one) for one in objects if one["kind"] in ("StatefulSet", "DaemonSet")]


def _status(keeper: Keeper) -> Facts:
    return {
        "version": keeper.version,
        "written": str(keeper.state.get("written", "")),
        "answered": keeper.answered,
        "waits": is_open(keeper),
        "next": next_steps(keeper),
    }
