# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The gateway's certificates: what is in their Secrets, what is issued, and what the running gateway serves.

One is served to sites. During a rotation of the CA another one is signed by the next CA, and served under the name C(next.NAME) for
every name of the first, so that every site can test it with the name that it uses.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Any

from ..base.addresses import is_ip
from ..base.certificate_names import certificate_names, next_server_name
from ..base.errors import ClusterError
from ..base.foreign_data import cleaned
from ..base.object_names import (
    FLEET_PORT,
    GATEWAY,
    GATEWAY_NEXT_VOLUME,
    GATEWAY_VOLUME,
    HAPROXY_CONFIG_DIR,
    HAPROXY_RUN_DIR,
    SUPERLINK,
    SUPERLINK_POD,
)
from ..flower import in_pod
from ..kube.client import Cluster
from ..pki import certificates, chain
from ..programs import gateway_program
from . import clocks, machine
from .ca_state import State
from .certificate_plan import SUBJECT, entries_of

_CERTIFICATE = "/certs/tls.pem"  # as the configuration names it
_SHOWN = 600  # characters of what HAProxy says
_SLICE = 30  # seconds of one exec: load balancers cut connections that are silent for a minute


def needed_names(publication: Mapping[str, str]) -> list[str]:
    """Names without which sites do not reach the gateway, from what the hub publishes."""
    found = certificate_names([publication["server_name"], publication["address"]])
    return [*found["dns"], *found["ip"]]


def names_to_issue(found: Mapping[str, str], ours: str, publication: Mapping[str, str]) -> list[str]:
    """Names for the next certificate of the gateway: all of the one in its Secret, if it is of a CA of ours (PEM), and those that are needed."""
    needed = needed_names(publication)
    if not is_usable(found) or not any(chain.signed_by(found["tls.crt"], ca) for ca in certificates.split(ours)):
        return needed
    return list(dict.fromkeys([*names_in(found), *needed]))


def names_in(found: Mapping[str, str]) -> list[str]:
    """Names in the certificate of a Secret; none if it cannot be used."""
    return list(certificates.describe(found["tls.crt"])["names"]) if is_usable(found) else []


def is_usable(found: Mapping[str, str]) -> bool:
    """Whether a Secret has a certificate and its key. People may have changed a part of it."""
    return chain.unusable(found.get("tls.crt", ""), found.get("tls.key", "")) is None


def next_names(names: Sequence[str]) -> list[str]:
    """The names under which the certificate of the next CA is tested."""
    return [next_server_name(name) for name in names if not is_ip(name) and not name.startswith("*")]


def issue(ca: certificates.Issued, names: Sequence[str], lifetime: datetime.timedelta) -> dict[str, str]:
    """A new certificate for the gateway, as entries of its Secret."""
    return entries_of(certificates.issue(ca, SUBJECT, list(names), lifetime), ca)


def leaf_facts(found: Mapping[str, str], state: State | None, names: Sequence[str], served: str, now: datetime.datetime) -> machine.Leaf:
    """What the state machine needs of the certificate in a Secret (decoded entries).

    Args:
        state: the CA; None where it is not ours, so any signer is accepted.
        names: names that it must cover.
        served: serial that the gateway serves.
    """
    if not is_usable(found):
        return machine.Leaf(served=served)
    certificate = found["tls.crt"]
    facts = certificates.describe(certificate)
    issuer = machine.BY_OTHER
    if state is None or chain.signed_by(certificate, state.authority.current.certificate):
        issuer = machine.BY_CURRENT
    elif state.authority.next and chain.signed_by(certificate, state.authority.next.certificate):
        issuer = machine.BY_NEXT
    good = not (has_expired(facts, now) or clocks.not_valid_yet(certificate, now)) and set(names) <= set(facts["names"])
    return machine.Leaf(facts["serial"], issuer, good, served)


def has_expired(facts: Mapping[str, Any], now: datetime.datetime) -> bool:
    """Whether a certificate, as described by C(pki.describe), has expired."""
    return now >= datetime.datetime.fromisoformat(facts["not_after"])


class Gateway:
    """The gateway in the SuperLink pod."""

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        self.cluster = cluster
        self.namespace = namespace
        self._volumes: dict[str, str] | None = None

    def _mounted(self, volume: str) -> str:
        """Name of the Secret of one of its volumes; empty when there is no such volume."""
        if self._volumes is None:
            found = self.cluster.get("apps/v1", "StatefulSet", SUPERLINK, self.namespace)
            volumes = found["spec"]["template"]["spec"]["volumes"] if found else []
            self._volumes = {one["name"]: one["secret"]["secretName"] for one in volumes if "secret" in one}
        return self._volumes.get(volume, "")

    def is_able(self) -> bool:
        """Whether it can serve a certificate of the next CA beside its own."""
        return bool(self._mounted(GATEWAY_NEXT_VOLUME))

    def secret(self) -> str:
        """Name of the Secret whose certificate it serves."""
        if not self.is_able():
            raise ClusterError(
                f"StatefulSet {self.namespace}/superlink on {self.cluster.name} does not exist, or is of an earlier release: run site.yml first"
            )
        return self._mounted(GATEWAY_VOLUME)

    def served(self, names: Sequence[str]) -> list[str]:
        """Serials that it serves for some names; the reason where it serves none."""
        return [_shown(answer) for answer in self._ask([_probe(name) for name in names], 60)]

    def wait_served(self, name: str, serial: str, seconds: float) -> str:
        """Wait until it serves a serial for a name; returns what it serves at last."""
        shown, left = "", seconds
        while left > 0 and shown != serial:
            seconds = min(left, _SLICE)
            shown = _shown(self._ask([_probe(name, serial, seconds)], seconds + 60)[0])
            left -= _SLICE
        return shown

    def push(self, pem: str) -> list[str]:
        """Write a certificate with its key at once, without a reload; returns a warning when it did not accept it.

        They go over the connection to the API server and the pod's memory, into no file.
        """
        step = {"push": _CERTIFICATE, "socket": f"{HAPROXY_RUN_DIR}/admin.sock", "pem": pem}
        (answer,) = self._ask([step], 60)
        if "error" not in answer:
            return []
        return [
            f"the gateway on {self.cluster.name} did not accept the certificate at once ({answer['error']}); it loads it when the "
            "kubelet has updated the file"
        ]

    def refusal(self) -> str:
        """Why HAProxy does not take its files as they are now; empty where it does. It then serves what it loaded before, and does not start again."""
        command = ["haproxy", "-c", "-f", f"{HAPROXY_CONFIG_DIR}/haproxy.cfg"]
        result = self.cluster.exec(self.namespace, SUPERLINK_POD, GATEWAY, command, timeout=60)
        if result.rc == 0:
            return ""
        output = cleaned((result.stderr + result.stdout).decode("utf-8", "replace"), _SHOWN)
        return (
            f"the gateway on {self.cluster.name} rejects its files: it serves the previous ones, but does not start when its pod is "
            f"replaced, and then no site can connect. HAProxy: {output or f'code {result.rc}'}. Correct the certificate that it serves, or superlink_patches"
        )

    def _ask(self, steps: list[dict[str, Any]], seconds: float) -> Sequence[Mapping[str, str]]:
        output = in_pod.run(self.cluster, self.namespace, SUPERLINK_POD, SUPERLINK, gateway_program, {"steps": steps}, seconds=seconds)
        return output.objects(len(steps))


def _probe(name: str, serial: str = "", seconds: float = 0) -> dict[str, Any]:
    return {"port": FLEET_PORT, "name": name, "serial": serial, "seconds": seconds}


def _shown(answer: Mapping[str, str]) -> str:
    return answer.get("serial") or answer.get("error", "nothing")
