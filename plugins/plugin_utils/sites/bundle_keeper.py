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
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..base.errors import ClusterError
from ..base.plain_data import digest
from ..hub import clients
from ..hub.client_store import ClientStore
from ..pki import certificates, signatures
from ..site_keys import public
from ..site_keys.reply import Reply
from ..state.ledger import Ledger
from . import bundle_files, bundle_folder, bundle_texts
from .bundle_draft import Draft, with_certificate

# Versions that a reply may answer, if their job was asked the same as the present one.
_REMEMBERED = 8
_ISSUED = "issued for this version"
State = dict[str, Any]


@dataclass
class Brought:
    """Outcome of C(Keeper.bring).

    Attributes:
        changed: whether there is a new version, or files were written.
        new: whether there is a new version.
        version: its number.
        path: folder of the site's bundle.
        diff: entries for C(--diff).
        content: SHA-256 of what the site gets, which neither the number nor the time of a version is part of; nor is a certificate that is
            issued for it. Empty where it depends on a hub that is not deployed yet.
    """

    changed: bool
    new: bool
    version: int
    path: Path
    diff: list[dict[str, str]]
    content: str


class Keeper:
    """See above.

    Args:
        site: inventory name of the site.
        ledger: of the federation.
        store: of the client CA, which signs.
        check: nothing is written.
    """

    def __init__(self, site: str, ledger: Ledger, store: ClientStore, *, check: bool) -> None:
        self.site, self.ledger, self.store, self.check = site, ledger, store, check
        self._state: State | None = None

    @property
    def state(self) -> State:
        """What the hub knows; empty before the first version."""
        if self._state is None:
            self._state = self.ledger.read_bundle(self.site)
        return self._state

    @property
    def draft(self) -> Draft | None:
        """The draft of the present version."""
        return Draft.of(self.state["draft"]) if self.state else None

    @property
    def version(self) -> int:
        """The present version; 0 before the first one."""
        return int(self.state.get("version", 0))

    @property
    def answered(self) -> int:
        """The version that the site has answered last; 0 for none."""
        return int((self.state.get("reply") or {}).get("version", 0))

    @property
    def published(self) -> public.Public:
        """What the site published with its last reply."""
        return public.read((self.state.get("reply") or {}).get("there"))

    @property
    def trusted(self) -> str:
        """The CA bundle that the site has, PEM, as far as its last reply proves it; empty if it proves none."""
        made = self.draft
        proven = str((self.state.get("reply") or {}).get("trust", ""))
        return made.trust if made and proven and proven == hashlib.sha256(made.trust.encode()).hexdigest() else ""

    @property
    def is_settled(self) -> bool:
        """Whether the site has answered a version with its present client certificate."""
        return 0 < int(self.state.get("certified", 0)) <= self.answered

    def signer(self) -> str:
        """Fingerprint of the CA that signs, for people."""
        return bundle_files.fingerprint(self._ca())

    def bring(self, made: Draft, directory: str) -> Brought:
        """Make a new version if anything differs, and write what is missing of its files.

        Args:
            made: what the site is to get.
            directory: on the control node.

        Raises:
            ClusterError: the hub has no CA that could sign, another run was faster, or files cannot be written.
        """
        if not directory:
            raise ClusterError("flower_bundle_directory is not set: it is the folder on the control node in which bundles are written.")
        where = Path(directory).expanduser()
        signer = self._ca()
        ca = signer or clients.stand_in().certificate
        before = self.draft
        built = self._built(made, ca) if self.state else None
        new = built is None or bundle_files.digest(built) != self.state["sums"]
        # A site that was forgotten and joins again may have archives of its former life, which must not pass for newer ones.
        last = self.version if self.state else bundle_folder.last(where, self.site)
        following = last + 1
        bundle_folder.refuse_others(where, self.site, self.version + int(new) if self.state else max(last, 1), made.facts["federation"], made.hub)
        diff: list[dict[str, str]] = []
        if new:
            changes = bundle_texts.changes(before, made, following)
            header = str(where / self.site / bundle_files.CHANGES)
            diff = [{"before_header": header, "after_header": header, "before": str(self.state.get("changes", "")), "after": changes}]
            built = self._next(made, following, changes, ca)
        if built is None:
            raise ClusterError(f"bundle of {self.site}: it was neither written before nor is it new")
        paths = []
        if not (new and self.check):
            built = {**built, bundle_files.SIGNATURE: base64.b64decode(self.state["signature"])}
            paths = bundle_folder.differing(where, self.site, self.version, built)
            if paths and not self.check:
                bundle_folder.write(where, self.site, self.version, built, paths)
        version = following if new and self.check else self.version
        content = self._content(made, before) if signer else ""
        return Brought(new or bool(paths), new, version, where / self.site, diff, content)

    def _content(self, made: Draft, before: Draft | None) -> str:
        """See C(Brought). In check mode a certificate is issued each time, and is another one each time."""
        issued = made.certificate and made.certificate != (before.certificate if before else "")
        return digest((with_certificate(made, _ISSUED) if issued and self.check else made).as_dict())

    def take(self, answer: Reply) -> bool:
        """Note a reply; returns whether it is new."""
        state = self.state
        kept = {
            "version": answer.binding["version"],
            "fingerprint": answer.fingerprint,
            "trust": answer.trust,
            "there": answer.there,
        }
        before = {key: value for key, value in (state.get("reply") or {}).items() if key != "taken"}
        if before == kept:
            return False
        if not self.check:
            self._write({**state, "reply": {**kept, "taken": _now()}})
        return True

    def fault(self, answer: Reply) -> str:
        """Why a reply does not answer this bundle, a sentence; empty if it does."""
        said, state = answer.binding, self.state
        if not state:
            return "no bundle was written for this site: run federated.flower.site"
        if state["draft"]["leaving"]:
            return "the site is leaving"
        if said["federation"] != self.ledger.federation or said["hub"] != state["draft"]["hub"]:
            return f"it answers a bundle of another federation ({said['federation'][:63]!r})"
        version = str(said["version"])
        asked = state["asked"].get(version)
        if asked is None or asked["nonce"] != said["nonce"]:
            return f"it answers no version of this site's bundle that can still be answered; version {self.version} is the present one"
        if asked["digest"] != state["asked"][str(self.version)]["digest"]:
            return (
                f"it answers version {version}, and version {self.version} asks for something else: let the site apply that one, and send its reply"
            )
        if said["version"] < self.answered:
            return f"it answers version {version}, and the site has answered version {self.answered} already"
        return ""

    def _built(self, made: Draft, ca: str) -> dict[str, bytes]:
        state = self.state
        return bundle_files.build(made, bundle_files.Stamp(self.version, state["nonce"], state["written"], state["changes"]), ca)

    def _next(self, made: Draft, version: int, changes: str, ca: str) -> dict[str, bytes]:
        """The files of a new version, which the hub knows afterwards."""
        nonce, written = secrets.token_hex(16), _now()
        built = bundle_files.build(made, bundle_files.Stamp(version, nonce, written, changes), ca)
        if self.check:
            return built
        live = self.store.read()
        if live is None:
            raise ClusterError("the CA that signs bundles was deleted meanwhile. Run federated.flower.site again")
        key = self.store.authority(self.store.settings(live))
        before = self.draft
        renewed = bool(made.certificate) and (before is None or before.certificate != made.certificate)
        asked = {**self.state.get("asked", {}), str(version): {"nonce": nonce, "digest": made.asks}}
        state = {
            "site": self.site,
            "version": version,
            "nonce": nonce,
            "written": written,
            "sums": bundle_files.digest(built),
            "signature": base64.b64encode(signatures.sign(built[bundle_files.SUMS], key.key)).decode("ascii"),
            "changes": changes,
            "draft": made.as_dict(),
            "asked": {name: asked[name] for name in sorted(asked, key=int)[-_REMEMBERED:]},
            "certified": version if renewed else self.state.get("certified", 0),
            "reply": self.state.get("reply") or {},
        }
        self._write(state)
        return built

    def _write(self, state: State) -> None:
        seen = self.state

        def change(live: State) -> State:
            if live != seen:
                raise ClusterError(
                    f"{self.site}: another run has changed its bundle meanwhile (version {live.get('version', 'none')}). Run again."
                )
            return state

        self.ledger.change_bundle(self.site, change)
        self._state = state

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
