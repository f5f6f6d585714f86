# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Keys that a site creates itself, from the control node: whether the site's job must run, and its result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol

from ..base.errors import ClusterError
from ..base.names import PUBLIC_KEYS
from ..base.values import natural
from ..manifests import site_jobs
from ..pki import certificates, keypairs, library
from ..spec.site_spec import SiteSpec
from . import keys, public


class Place(Protocol):
    """The way to a site's job: its own API server (C(job.py)), or a hub of Open Cluster Management (C(through_hub.py)).

    Attributes:
        name: of the cluster, for messages.
    """

    name: str

    def read(self) -> public.Public:
        """What the site reports now."""

    def make_room(self, seconds: float) -> bool:
        """Wait for an earlier job, or remove it if its run has died; returns whether there was one."""

    def run(self, request: Mapping[str, Any], seconds: int) -> None:
        """Let the site create its keys; C(request) as in C(maker.py), without C(owner)."""


@dataclass
class Outcome:
    """What C(make) did, or C(foresee) foresaw.

    Attributes:
        found: keys, extra ones and reasons, as from C(keys.plan); C(secrets) is empty.
        before: what the site reported before.
        after: what it reports now; None when nothing was done.
    """

    found: keys.SiteKeys
    before: public.Public
    after: public.Public | None = None

    def objects(self, namespace: str) -> list[dict[str, str]]:
        """The result for each Secret, in the format of C(apply)."""
        return [
            {"apiVersion": "v1", "kind": "Secret", "namespace": namespace, "name": name, "change": change}
            for name, change in changes(self.before, self.after or self.before).items()
        ]

    def diff(self, namespace: str) -> list[dict[str, str]]:
        """Entries for Ansible's C(--diff): fingerprints of the keys."""
        if not self.found.reasons:
            return []
        before = {(pool, name): keypairs.fingerprint(key) for pool, lines in self.before.lines.items() for name, key in lines.items()}
        after = {(key["pool"], key["name"]): key["fingerprint"] for key in self.found.keys}
        if self.after is None:
            after = {key: print_ if print_ in before.values() else "(to be made)" for key, print_ in after.items()}

        def text(prints: Mapping[tuple[str, str], str]) -> str:
            ordered = sorted(prints, key=lambda key: (key[0], natural(key[1])))
            return "".join(f"{pool}/{name} {prints[pool, name]}\n" for pool, name in ordered)

        header = f"SuperNode keys of namespace {namespace}, created at the site"
        return [{"before_header": header, "after_header": header, "before": text(before), "after": text(after)}]


def changes(before: public.Public, after: public.Public) -> dict[str, str]:
    """Secret -> what became of it."""
    reported = {}
    for name in sorted({*before.versions, *after.versions}):
        was, now = before.versions.get(name), after.versions.get(name)
        reported[name] = "created" if was is None else "deleted" if now is None else "unchanged" if was == now else "changed"
    return reported


def make(
    place: Place, spec: SiteSpec, wanted: keys.Wanted, seconds: int, prepare: Callable[[], Any] = lambda: None, *, check: bool = False
) -> Outcome:
    """Let the site create what is missing. If nothing is, one request and no changes.

    Args:
        seconds: how long the site's job may take.
        prepare: called before anything is created; the namespace must exist afterwards.
        check: check mode, see C(foresee).

    Raises:
        ClusterError: the site's job could not do it.
    """
    if check:
        return foresee(place, spec, wanted)
    namespace = spec.namespace
    before = place.read()
    work = public.survey(wanted, before)
    if work.reasons and place.make_room(seconds):
        # Another run was active: it may have done everything.
        before = place.read()
        work = public.survey(wanted, before)
    if not work.reasons:
        return Outcome(work, before)
    prepare()
    place.run(_request(spec, wanted, before), seconds)
    after = place.read()
    found = public.survey(wanted, after)
    if found.reasons:
        raise ClusterError(
            f"the job that creates the site's keys succeeded, but ConfigMap {namespace}/{PUBLIC_KEYS} on {place.name} "
            f"reports: {'; '.join(found.reasons)}. Someone may be deleting Secrets in that namespace. Run again."
        )
    found.reasons = work.reasons
    return Outcome(found, before, after)


def foresee(place: Place, spec: SiteSpec, wanted: keys.Wanted) -> Outcome:
    """What C(make) would do. What the site would create has placeholders, which are used only here."""
    library.require()
    before = place.read()
    found = public.survey(wanted, before)
    good = {(key["pool"], key["name"]): key for key in found.keys}
    found.keys = [good.get((pool.name, name)) or stand_in(pool.name, name) for pool in wanted.pools for name in pool.names]
    if wanted.client and not found.client_request:
        found.client_request = certificates.client_request(keypairs.make_client_key(), wanted.client)
    return Outcome(found, before)


def stand_in(pool: str, name: str) -> dict[str, str]:
    """Facts of a key that does not exist."""
    return keys.key_facts(pool, name, keypairs.supernode_public_key(keypairs.make_supernode_key()))


def drop(place: Place, spec: SiteSpec, extra: Mapping[str, Sequence[str]], seconds: int) -> dict[str, str]:
    """Let the site delete keys that are no longer needed; returns the result for each Secret."""
    place.make_room(seconds)
    known = place.read()
    lasting = {pool.name for pool in spec.pools}
    left = [
        keys.Pool(pool.name, [name for name in pool.names if name not in extra.get(pool.name, [])], pool.offset)
        for pool in known.pools
        if pool.name in lasting
    ]
    request = _request(spec, keys.Wanted(left, client=known.client), known)
    place.run({**request, "drop": {pool: list(names) for pool, names in extra.items()}}, seconds)
    return changes(known, place.read())


def renew(place: Place, spec: SiteSpec, names: Sequence[str], mark: str, seconds: int) -> dict[str, str]:
    """Let the site recreate shared secrets without the mark; returns the result for each Secret.

    A site that has created none yet is not changed.
    """

    def done(known: public.Public) -> bool:
        return not known.versions or all(known.marks.get(name) == mark for name in names)

    known = place.read()
    if not done(known) and place.make_room(seconds):
        known = place.read()
    if done(known):
        return {}
    request = _request(spec, keys.Wanted(known.pools, client=known.client), known)
    place.run({**request, "renew": dict.fromkeys(names, mark)}, seconds)
    return changes(known, place.read())


def _request(spec: SiteSpec, wanted: keys.Wanted, known: public.Public) -> dict[str, Any]:
    """The request for the site's job, see C(maker.py)."""
    return {
        **asdict(wanted),
        "federation": spec.federation,
        "namespace": spec.namespace,
        "drop": {},
        "renew": {},
        "secrets": site_jobs.secret_names(pool.name for pool in [*wanted.pools, *known.pools]),
    }
