# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The bundle of one site: what the hub knows of it, its next version, its files on the control node, and replies to it.

What the hub knows is in the ConfigMap C(flower-bundle-SITE), so that any control node writes the same files::

    {"version": 2, "nonce": "9a41…", "written": "2026-11-24T10:00:00+00:00", "sums": "1c0e…", "signature": "MEUC…", "changes": "…",
     "draft": {…},                                             see C(bundle_draft.Draft)
     "asked": {"2": {"nonce": "9a41…", "digest": "77ab…"}},    versions that can still be answered, and what their job was asked
     "certified": 2,                                           the first version with the present client certificate
     "reply": {"version": 1, "fingerprint": "A31F …", "taken": "…", "trust": "9f86…", "there": {…}}}
"""

from __future__ import annotations

import base64
import datetime
import hashlib
import secrets
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..base.errors import ClusterError
from ..base.names import PUBLIC_KEYS
from ..base.plain_data import digest
from ..kube.client import Cluster
from ..pki import certificates, signatures
from ..rotation import clients
from ..rotation.client_store import ClientStore
from ..site_keys import public, reported
from ..site_keys.reply import Reply
from ..state.ledger import Ledger
from . import bundle_files, bundle_texts
from .bundle_draft import Draft
from .site import Facts, Run, Site, on_first_use

# Versions that a reply may answer, if their job was asked the same as the present one.
_REMEMBERED = 8
State = dict[str, Any]


@dataclass
class BundleChange:
    """Outcome of C(Keeper.bring).

    Attributes:
        changed: whether there is a new version, or files were written.
        new: whether there is a new version.
        version: its number.
        path: folder of the site's bundle.
        diff: entries for C(--diff).
        content: SHA-256 of what the site gets, without what each version has of its own: number, time, client certificate. Empty where it
            depends on a hub that is not deployed yet.
    """

    changed: bool
    new: bool
    version: int
    path: Path
    diff: list[dict[str, str]]
    content: str


class Keeper:
    """The bundle of one site, with its record on the hub.

    Args:
        site: inventory name of the site.
        ledger: of the federation.
        store: of the client CA, which signs.
        check: nothing is written.
    """

    def __init__(self, site: str, ledger: Ledger, store: ClientStore, *, check: bool) -> None:
        self.site, self.ledger, self.store, self.check = site, ledger, store, check

    @classmethod
    def of(cls, run: Run, hub: Cluster, site: Site) -> Keeper:
        """The bundle of a site. C(hub): a connection."""

        def note(name: str | None = None, **facts: Iterable[Any]) -> None:
            run.note(name or site.hub, **facts)

        ledger = Ledger(hub, site.hub_namespace, site.federation, check=run.check)
        return cls(site.name, ledger, ClientStore(hub, site.hub_namespace, ledger, note=note, check=run.check), check=run.check)

    @on_first_use
    def state(self) -> State:
        """What the hub knows; empty before the first version."""
        return self.ledger.read_bundle(self.site)

    @property
    def draft(self) -> Draft | None:
        """The draft of the present version."""
        return Draft.of(self.state["draft"]) if self.state else None

    @property
    def version(self) -> int:
        """The present version; 0 before the first one."""
        return int(self.state.get("version", 0))

    @property
    def reply(self) -> State:
        """The last reply; empty before the first one."""
        return self.state.get("reply") or {}

    @property
    def answered(self) -> int:
        """The version that the site has answered last; 0 for none."""
        return int(self.reply.get("version", 0))

    @property
    def published(self) -> public.Public:
        """What the site published with its last reply."""
        return reported.read(self.reply.get("there"))

    @property
    def trusted(self) -> str:
        """The CA bundle that the site has, PEM, as far as its last reply proves it; empty if it proves none."""
        draft, proven = self.draft, self.reply.get("trust")
        return draft.trust if draft and proven and proven == hashlib.sha256(draft.trust.encode()).hexdigest() else ""

    @property
    def is_certified(self) -> bool:
        """Whether the site has answered a version with its present client certificate."""
        return 0 < int(self.state.get("certified", 0)) <= self.answered

    @property
    def is_open(self) -> bool:
        """Whether the present version asks for what the last reply does not answer."""
        draft, asked = self.draft, self.state.get("asked", {})
        if draft is None or draft.leaving:
            return False
        answered = asked.get(str(self.answered)) or {}
        return not self.trusted or (draft.open and answered.get("digest") != asked[str(self.version)]["digest"])

    def next_steps(self) -> str:
        """What has to be done next, for a version that waits for a reply; empty for another."""
        if not self.is_open:
            return ""
        return (
            "the site checks it (with the commands of the guide on bundles), applies it (kubectl apply -k .), and sends back what "
            f"kubectl get configmap {PUBLIC_KEYS} -n {self.state['draft']['facts']['namespace']} -o json prints; then run "
            "federated.flower.join -e flower_bundle_reply=FILE"
        )

    def summary(self) -> str:
        """A sentence on the bundle."""
        if not self.version:
            return "No bundle was written for it."
        answered = f"the site has answered version {self.answered}" if self.answered else "the site has not answered yet"
        return f"Bundle version {self.version} was written on {self.state['written']}, {answered}; the control node cannot see whether it was applied."

    def status(self) -> Facts:
        """The bundle, for M(federated.flower.supernode_info)."""
        written = str(self.state.get("written", ""))
        return {"version": self.version, "written": written, "answered": self.answered, "waits": self.is_open, "next": self.next_steps()}

    def signer(self) -> str:
        """Fingerprint of the CA that signs, for people."""
        return bundle_files.fingerprint(self._ca())

    def bring(self, draft: Draft, directory: str) -> BundleChange:
        """Make a new version if anything differs, and write what is missing of its files.

        Args:
            directory: on the control node.

        Raises:
            ClusterError: the hub has no CA that could sign, another run was faster, or files cannot be written.
        """
        if not directory:
            raise ClusterError("flower_bundle_directory is not set: it is the folder on the control node in which bundles are written.")
        folder, signer, state = Path(directory).expanduser(), self._ca(), self.state
        ca = signer or clients.placeholder_ca().certificate
        built: dict[str, bytes] = {}
        if state:
            built = bundle_files.build(draft, bundle_files.Stamp(self.version, state["nonce"], state["written"], state["changes"]), ca)
        new = not state or bundle_files.digest(built) != state["sums"]
        # A site that was forgotten and joins again may have archives of its former life, which must not pass for newer ones.
        version = (self.version if state else bundle_files.last_version(folder, self.site)) + int(new)
        bundle_files.refuse_others(folder, self.site, version, draft.facts["federation"], draft.hub)
        content = digest({**draft.as_dict(), "objects": draft.without_certificate()}) if signer else ""
        diff: list[dict[str, str]] = []
        if new:
            changes = bundle_texts.changes(self.draft, draft, version)
            header = str(folder / self.site / bundle_files.CHANGES)
            diff = [{"before_header": header, "after_header": header, "before": str(state.get("changes", "")), "after": changes}]
            if not self.check:
                built = self._new_version(draft, bundle_files.Stamp(version, secrets.token_hex(16), _now(), changes), ca)
        written = new
        if not (new and self.check):
            built[bundle_files.SIGNATURE] = base64.b64decode(self.state["signature"])
            written |= bundle_files.write(folder, self.site, version, built, check=self.check)
        return BundleChange(written, new, version, folder / self.site, diff, content)

    def _new_version(self, draft: Draft, stamp: bundle_files.Stamp, ca: str) -> dict[str, bytes]:
        """The files of a new version, which the hub knows afterwards."""
        built = bundle_files.build(draft, stamp, ca)
        live = self.store.read()
        if live is None:
            raise ClusterError("the CA that signs bundles was deleted in the meantime. Run federated.flower.site again")
        key = self.store.authority(self.store.settings(live)).key
        before = self.draft
        renewed = bool(draft.certificate) and (before is None or before.certificate != draft.certificate)
        asked = {**self.state.get("asked", {}), str(stamp.version): {"nonce": stamp.nonce, "digest": draft.asks}}
        self._write(
            {
                "site": self.site,
                "version": stamp.version,
                "nonce": stamp.nonce,
                "written": stamp.written,
                "sums": bundle_files.digest(built),
                "signature": base64.b64encode(signatures.sign(built[bundle_files.SUMS], key)).decode("ascii"),
                "changes": stamp.changes,
                "draft": draft.as_dict(),
                "asked": {name: asked[name] for name in sorted(asked, key=int)[-_REMEMBERED:]},
                "certified": stamp.version if renewed else self.state.get("certified", 0),
                "reply": self.reply,
            }
        )
        return built

    def take(self, answer: Reply) -> bool:
        """Note a reply; returns whether it is new."""
        kept = {"version": answer.binding["version"], "fingerprint": answer.fingerprint, "trust": answer.trust, "there": answer.there}
        if {key: value for key, value in self.reply.items() if key != "taken"} == kept:
            return False
        if not self.check:
            self._write({**self.state, "reply": {**kept, "taken": _now()}})
        return True

    def fault(self, answer: Reply, fingerprint: str) -> str:
        """Why a reply is not taken, a sentence; empty if it is.

        Args:
            fingerprint: of the reply, as its administrators read it out; may be empty.
        """
        return next(self._faults(answer, fingerprint), "")

    def _faults(self, answer: Reply, fingerprint: str) -> Iterator[str]:
        binding, state = answer.binding, self.state
        if not state:
            yield "no bundle was written for this site: run federated.flower.site"
            return
        if state["draft"]["leaving"]:
            yield "the site is leaving"
        if binding["federation"] != self.ledger.federation or binding["hub"] != state["draft"]["hub"]:
            yield f"it answers a bundle of another federation ({binding['federation'][:63]!r})"
        version = binding["version"]
        asked = state["asked"].get(str(version))
        if asked is None or asked["nonce"] != binding["nonce"]:
            yield f"it answers no version of this site's bundle that can still be answered; version {self.version} is the present one"
            return
        if asked["digest"] != state["asked"][str(self.version)]["digest"]:
            yield f"it answers version {version}, and version {self.version} has other requests: ask the site to apply that version and send its reply"
        if version < self.answered:
            yield f"it answers version {version}, and the site has answered version {self.answered} already"
        if fingerprint and _digits(fingerprint) != _digits(answer.fingerprint):
            yield f"its fingerprint is {answer.fingerprint}, and not the one that was given (flower_bundle_fingerprint)"
        published = reported.read(answer.there)
        if published.client and published.client != self.site:
            yield f"its certificate request is of {published.client[:63]!r}"
        client = (self.ledger.read_record(self.site) or {}).get("client")
        shown = certificates.request_fingerprint(published.client_request) if published.client_request else ""
        # A reply with a new client key, as after a break-in, or without one is signed by nothing that the hub knows.
        if client and not fingerprint and client["key"] != shown:
            yield (
                "it is not signed with the client key that the hub knows of this site. If the site was to create a new "
                "one, or has lost its keys, ask its administrators for the fingerprint. If it matches, add -e "
                f"flower_bundle_fingerprint='{answer.fingerprint}'"
            )

    def _write(self, state: State) -> None:
        seen = self.state

        def change(live: State) -> State:
            if live != seen:
                raise ClusterError(
                    f"{self.site}: another run has changed its bundle in the meantime (version {live.get('version', 'none')}). Run again."
                )
            return state

        self.ledger.change_bundle(self.site, change)
        self.state = state

    def _ca(self) -> str:
        """Certificate of the CA that signs bundles; empty in check mode where it is created together with the hub.

        Raises:
            ClusterError: the hub has none.
        """
        live = self.store.read()
        if live is None and self.check:
            return ""
        if live is None:
            raise ClusterError(
                f"{self.site}: the hub has no CA of client certificates, which signs bundles: it is not deployed, or "
                "superlink_client_certificates is none."
            )
        self.store.settings(live)  # raises when it is damaged
        return certificates.first(live["data"]["ca.crt"])


def _now() -> str:
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")


def _digits(text: str) -> str:
    return "".join(text.replace(":", " ").split()).upper()
