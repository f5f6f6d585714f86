# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A site that gives no access: it gets files, applies them itself, and sends a file with its public keys.

Nothing is known of its cluster but what it replied, and what the SuperLink knows of its SuperNodes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..base import formats, object_names
from ..base.errors import ClusterError
from ..base.formats import named_hosts
from ..base.problems import require
from ..base.values import Object
from ..checks import dataset_checks
from ..pki import certificates, keypairs, library
from ..rotation.authority import trust_bundle
from ..rotation.site_proof import Proof
from ..site_keys import keys, public
from ..spec.part_spec import NOTHING
from ..state.site_indexes import Files
from . import bundle_draft as drafts
from . import workloads
from .bundle_draft import Draft
from .bundle_keeper import BundleChange, Keeper
from .key_sources import wanted
from .site import Facts, KeyResult, PreflightResult, Restart, Run, Site, SiteBackend, StepResult, on_first_use

_NO_ACCESS = "the control node has no access to the site's cluster"
_SHOWN = ", and everyone who gets the bundle can read it. Ask the site to put it into its own Secret, and refer to that with valueFrom.secretKeyRef."
_HUB_SECONDS = 30


class Backend(SiteBackend):
    """See C(site.SiteBackend)."""

    NO_PODS = _NO_ACCESS

    def __init__(self, run: Run, site: Site) -> None:
        super().__init__(run, site)
        self._needed = keys.Wanted([])
        self._serving: dict[str, dict[str, str]] = {}
        self._extra: dict[str, list[str]] = {}
        self._lacks = False

    @on_first_use
    def keeper(self) -> Keeper:
        """The site's bundle."""
        return Keeper.of(self.run, self.cluster, self.site)

    def preflight(self, hub: Facts) -> PreflightResult:
        """See C(site.SiteBackend). There is nothing to look at but the hub."""
        library.require()
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
        return PreflightResult("bundle site: it gets a bundle of files, and its cluster was not checked", warnings)

    def numbers(self) -> dict[str, tuple[int, int]]:
        """See C(site.SiteBackend). According to its last reply."""
        return {pool.name: (pool.offset, len(pool.names)) for pool in self.keeper.published.pools if pool.offset is not None and pool.names}

    def make_keys(self, allocation: Mapping[str, Any], dead: Sequence[str]) -> KeyResult:
        """See C(site.SiteBackend). What is missing is asked for in the next version; until it is answered, the keys that are in use stay."""
        keeper = self.keeper
        before, published = keeper.draft, keeper.published
        pending = before.request.get("dead", []) if before else []
        needed, _ready = wanted(self.site.name, self.site.spec, allocation, [*dead, *pending], list)
        known_keys = {keypairs.fingerprint(line) for lines in published.lines.values() for line in lines.values()}
        if published.client_request:
            known_keys.add(certificates.request_fingerprint(published.client_request))
        # What the site does not have any more need not be replaced.
        self._needed = replace(needed, dead=sorted(known_keys.intersection(needed.dead)))
        found = public.survey(self._needed, published)
        record = keeper.ledger.read_record(self.site.name)
        in_use = self._in_use(needed.pools, published, set(dead), (record or {}).get("keys", {}))
        self._serving = {}
        for key in in_use:
            self._serving.setdefault(key["pool"], {})[key["name"]] = key["fingerprint"]
        self._extra, self._lacks = found.extra, bool(found.reasons)
        client, request = (record or {}).get("client"), found.client_request
        rekeyed = bool(request) and (not client or certificates.request_fingerprint(request) != client["key"])
        return KeyResult(
            keys=in_use,
            client_request=request,
            by_hand=True,
            certified=keeper.is_certified and not rekeyed,
            certificate=NOTHING,
            msg="; ".join(found.reasons) or f"{len(in_use)} keys, all there",
        )

    @staticmethod
    def _in_use(pools: Sequence[keys.Pool], published: public.Public, dead: set[str], known: Mapping[str, Facts]) -> list[Facts]:
        """The keys that the hub admits: those of the last reply but for those that can never serve again; before it, those of the ledger (C(known))."""
        if not published.versions:
            return [
                {**keys.key_facts(key["pool"], key["name"], key["public_key"]), "expected": True}
                for key in known.values()
                if not key.get("leaving") and not key.get("dead") and key.get("public_key")
            ]
        found = []
        for pool in pools:
            kept = keys.settle(pool, published.lines.get(pool.name, {}), published.offsets.get(pool.name), lambda _line: False).kept
            for facts in [keys.key_facts(pool.name, name, kept[name]) for name in pool.names if name in kept]:
                entry = known.get(facts["fingerprint"], {"dead": True})
                if facts["fingerprint"] not in dead or not entry.get("dead"):
                    found.append({**facts, "expected": True})
        return found

    def apply(self, objects: Sequence[Object], gate: Callable[[], None]) -> StepResult:
        """See C(site.SiteBackend). Files are written; the site applies them."""
        if self.run.rendering:
            return StepResult()  # its bundle has what it applies
        spec, needed, published = self.site.spec, self._needed, self.keeper.published
        before = self.keeper.draft
        request = drafts.request_of(
            spec,
            [{"name": pool.name, "names": list(pool.names), "offset": pool.offset} for pool in needed.pools],
            dead=list(needed.dead),
            client=needed.client,
            listener=needed.listener,
            drop={pool: list(names) for pool, names in sorted(self._extra.items())},
            renew=dict(before.request.get("renew", {})) if before else {},
            known_pools=sorted(pool.name for pool in published.pools),
        )
        draft = drafts.draft(
            spec,
            objects,
            request,
            hub=self.site.identity,
            serving=self._serving,
            certified=not spec.shows_certificate or spec.client_certificate not in ("", NOTHING),
            before=before,
            marks=published.marks,
            lacks=self._lacks,
        )
        done = self._done(self._bring(draft))
        if done.changed:
            done.warnings += [f"{self.site.name}: {one}{_SHOWN}" for one in formats.shown_value(draft.objects)]
        return done

    def apply_apps(self, objects: Sequence[Object], gate: Callable[[], None], seconds: int) -> StepResult:
        """See C(site.SiteBackend)."""
        return self._done(self._bring(drafts.with_objects(self._present(), objects)))

    def restart(self, wanted: Restart, result: Facts) -> None:
        """See C(site.SiteBackend). The next version restarts them where they must; a demand for new secrets is one for a reply."""
        if not wanted.mark:
            return
        before, published = self._present(), self.keeper.published
        result["renewed"] = keys.SUPEREXEC in published.versions and published.marks.get(keys.SUPEREXEC) == wanted.mark
        if result["renewed"]:
            return
        brought = self._bring(drafts.with_mark(before, {keys.SUPEREXEC: wanted.mark}))
        result["changed"] |= brought.changed
        raise ClusterError(f"bundle version {brought.version} in {brought.path} recreates its secrets: {self.keeper.next_steps()}")

    def trust(self, wanted: Proof, result: Facts) -> None:
        """See C(site.SiteBackend). What its last reply proves counts; its pods cannot be queried."""
        if wanted.own_bundle and wanted.bundle:
            raise ClusterError(
                "its CA bundle is set by its variables (supernode_ca_bundle), so it is not changed: add the new CA there, or remove the variable"
            )
        before = self._present()
        if wanted.bundle and trust_bundle(before.trust) != trust_bundle(wanted.bundle):
            brought = self._bring(drafts.with_trust(before, wanted.bundle, restart=not self.site.spec.has_sidecar))
            result["changed"] |= brought.changed
        trusted = self.keeper.trusted
        if trusted:
            result.update(
                trust=trusted,
                accepts=sorted({serial for serial in wanted.wanted.values() if serial}),
                msg="its pods were not checked: there is no access to its cluster, and its reply proves that it has the CA bundle",
            )
        elif not wanted.first:
            raise ClusterError(f"that it has the CA bundle of bundle version {self.keeper.version} is not proven: {self.keeper.next_steps()}")

    def _present(self) -> Draft:
        found = self.keeper.draft
        if found is None or found.leaving:
            raise ClusterError("no bundle was written for it: run site.yml for this site")
        return found

    def pod_summary(self) -> str:
        """See C(site.SiteBackend)."""
        return self.keeper.summary()

    def remove(self, *, volumes: bool) -> StepResult:
        """See C(site.SiteBackend). The list of what the site's administrators delete is written; their cluster is not touched."""
        before = self.keeper.draft
        if before is None:
            return StepResult(msg="no bundle was written for it: nothing to remove")
        before.leaving = True
        done = self._done(self._bring(before), remind=False)
        path = f"{self.site.spec.bundle_directory}/{self.site.name}/UNINSTALL.md"
        done.msg = f"nothing was deleted in its cluster, to which there is no access: its administrators delete what {path} lists"
        done.warnings.append(f"{self.site.name}: {done.msg}")
        return done

    def _bring(self, draft: Draft) -> BundleChange:
        """Write the bundle, and record a new version for the audit trail."""
        brought = self.keeper.bring(draft, self.site.spec.bundle_directory)
        if brought.new:
            content = f", content {brought.content}" if brought.content else ""
            what = f"to write{content}" if self.run.check else f"written, SHA256SUMS {self.keeper.state['sums']}"
            self.run.note(self.site.name, words=[f"bundle version {brought.version} {what}"])
        return brought

    def _done(self, brought: BundleChange, *, remind: bool = True) -> StepResult:
        what = f"bundle version {brought.version} {'to write' if self.run.check else 'is'} in {brought.path}"
        files = Files(brought.version, self.keeper.answered)
        done = StepResult(changed=brought.changed, diff=brought.diff if self.run.show_diff else [], msg=what, files=files)
        steps = "" if self.run.check and brought.new else self.keeper.next_steps()
        if remind and steps:
            done.warnings.append(f"{self.site.name}: bundle version {brought.version} in {brought.path}, signed by the CA {self.keeper.signer()}: {steps}")
        return done


def statuses(run: Run, sites: Sequence[Site], seconds: int, workers: int) -> dict[str, Facts]:
    """See C(registry.Delivery). What the hub knows of their bundles; the SuperLink is asked by others."""
    found = {site.name: workloads.unknown() for site in sites}
    for host in dict.fromkeys(site.hub for site in sites):
        own = [site for site in sites if site.hub == host]
        try:
            with run.connect(host, timeout=max(seconds, _HUB_SECONDS)) as hub:
                for site in own:
                    keeper = Keeper.of(run, hub, site)
                    found[site.name] |= {"bundle": keeper.status(), "bundle_workloads": workloads_of(keeper.draft)}
        except ClusterError as error:
            for site in own:
                found[site.name].update(reachable=False, error=named_hosts(site.name, error.message))
    return found


def workloads_of(draft: Draft | None) -> list[Facts]:
    """The workloads of the present version, which its people may not have applied yet."""
    objects = [] if draft is None or draft.leaving else draft.objects
    return [workloads.workload(one) for one in objects if one["kind"] in ("StatefulSet", "DaemonSet")]
