# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The hub's internal certificates and shared secrets: which are needed, and which must be created. Pure but for
randomness.

They are always created; the certificate for sites comes from C(sources). Private keys
go from here into Secrets and never into an Ansible variable.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable

from ..base.object_names import INTERNAL_CA_SECRET, INTERNAL_SECRET, RUNTIME_SECRET, SUPERLINK_SUPEREXEC_SECRET
from ..base.secret_data import CREDENTIALS
from ..pki import certificates, chain, keypairs, library
from .made import SecretPlan, entries_of
from .wanted import Observed, Ref, Wanted, secret_ref

INTERNAL_CA = INTERNAL_CA_SECRET
INTERNAL = INTERNAL_SECRET
SUPEREXEC = SUPERLINK_SUPEREXEC_SECRET
__all__ = ["CREDENTIALS", "recreated", "plan", "reads"]

# Only containers of the hub's own namespace use internal certificates, and renewing them restarts SuperLink.
INTERNAL_LIFETIME = datetime.timedelta(days=3650)


def reads(wanted: Wanted) -> Iterable[Ref]:
    """The Secrets that C(plan) must read."""
    own = [secret_ref(wanted.namespace, name) for name in (INTERNAL, RUNTIME_SECRET, SUPEREXEC)]
    return [secret_ref(wanted.ca_namespace, INTERNAL_CA), *own]


def plan(wanted: Wanted, seen: Observed) -> SecretPlan:
    """Compare existing Secrets with the wanted ones; create what is missing or invalid.

    A CA is created only if there is none.
    """
    library.require()
    made = SecretPlan(wanted, seen)
    ca = made.ca = _internal_ca(made)
    for name, (subject, names) in _leafs(wanted.namespace).items():
        made.leaf(name, ca, subject, names, INTERNAL_LIFETIME)
    if "secret" not in seen.entries(wanted.namespace, SUPEREXEC):
        made.write(wanted.namespace, SUPEREXEC, {"secret": keypairs.make_secret()}, "it did not exist")
    return made


def recreated(ca: certificates.Issued, namespace: str) -> dict[str, dict[str, str]]:
    """Secret -> entries of everything that can be exchanged when the hub's pods restart.

    Args:
        ca: the internal CA, which stays.
        namespace: the SuperLink's.
    """
    fresh = {
        name: entries_of(certificates.issue(ca, subject, names, INTERNAL_LIFETIME), ca)
        for name, (subject, names) in _leafs(namespace).items()
    }
    return {**fresh, SUPEREXEC: {"secret": keypairs.make_secret()}}


def _leafs(namespace: str) -> dict[str, tuple[str, list[str]]]:
    """Secret -> subject and names of an internal certificate."""
    return {
        # a SuperExec that SuperLink starts itself connects to 127.0.0.1.
        INTERNAL: ("superlink internal", ["localhost", "127.0.0.1"]),
        RUNTIME_SECRET: ("superlink runtime", ["superlink-runtime", f"superlink-runtime.{namespace}.svc"]),
    }


def _internal_ca(made: SecretPlan) -> certificates.Issued:
    wanted = made.wanted
    there = made.seen.entries(wanted.ca_namespace, INTERNAL_CA)
    complete = {"tls.crt", "tls.key"} <= set(there)
    reason = chain.unusable(there["tls.crt"], there["tls.key"]) if complete else "it did not exist"
    if not reason:
        ca = certificates.Issued(there["tls.crt"], there["tls.key"])
    else:
        ca = certificates.make_ca(certificates.ca_name(wanted.federation, "internal CA"), wanted.ca_lifetime)
        data = {"tls.crt": ca.certificate, "tls.key": ca.key}
        made.write(wanted.ca_namespace, INTERNAL_CA, data, reason, "kubernetes.io/tls")
    made.note(wanted.ca_namespace, INTERNAL_CA, ca.certificate)
    return ca
