# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The gateway's certificate ends, or is not valid yet: sites refuse it until a new one is served, or until its time has come."""

from __future__ import annotations

import datetime
import time
from collections.abc import Mapping
from typing import Any

from ...base.errors import ClusterError
from ...base.object_names import GATEWAY_SECRET
from ...hub.certificate_plan import BUILTIN
from ...pki import certificates
from ...rotation import ca_state
from ...rotation.hub_steps import Hub, Settings
from ..bench import Bench
from ..drill_verdict import Measured
from .base_break import Break

_SHORT = 20.0  # seconds until a certificate ends: long enough to be served, by the clocks of all
_SERVED = 30.0


class _Certificate(Break):
    """What both drills have in common."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self.place = bench.hub.name
        lifetime = datetime.timedelta(days=bench.spec.certificate_days)
        settings = Settings(bench.federation, bench.namespace, bench.ca_namespace, lifetime, lifetime)
        self._hub = Hub(bench.hub, settings, bench.run.note)

    def faults(self) -> list[str]:
        """Only certificates of the federation's own CA are issued here, and never during a rotation of it."""
        place = f"{self.place}: the gateway's certificate"
        if self._hub.is_insecure():
            return [f"{self.place}: the federation has no TLS (flower_insecure), so there is no certificate that could end"]
        if self._bench.spec.certificates_source != BUILTIN or self._hub.gateway.secret() != GATEWAY_SECRET:
            return [f"{place} is not of the federation's own CA (superlink_certificates_source), so no other one can be issued for a drill"]
        _live, state = self._hub.ca()
        if state.phase != ca_state.IDLE:
            return [f"{place}: a rotation of the CA is {state.phase}; complete it first with federated.flower.rotate_certs"]
        if not state.authority.current.key:
            return [f"{place}: the CA has lost its key; replace it with federated.flower.rotate_certs -e flower_rotate=ca"]
        return []

    def facts(self) -> dict[str, Any]:
        """The serial of the certificate is known when it is issued."""
        return {"serial": ""}

    def _break(self, lifetime: datetime.timedelta, begin: datetime.timedelta | None = None) -> None:
        """Serve a certificate with this validity for new connections."""
        bench = self._bench
        made = self._hub.made_for(lifetime, begin)
        serial = str(certificates.describe(made["tls.crt"])["serial"])
        bench.store.add({"serial": serial})
        self._hub.put(made)
        shown = self._hub.gateway.wait_served(self._hub.publication()["data"]["server_name"], serial, _SERVED)
        if shown != serial:
            raise ClusterError(f"{bench.hub.name}: the gateway does not serve certificate {serial} after {_SERVED:.0f} s: {shown}")

    def _repair(self) -> None:
        self._hub.issue()
        self._hub.serve()

    def _end_connections(self) -> None:
        """Have the gateway read its files: connections that were opened before end."""
        self._hub.bring_files()

    def _repair_if_ours(self, facts: Mapping[str, Any]) -> list[str]:
        """Replace the certificate of the drill, unless another one is there already."""
        held = self._hub.secret(GATEWAY_SECRET).get("tls.crt", "")
        if not facts.get("serial") or not held or certificates.describe(held)["serial"] != facts["serial"]:
            return []
        self._repair()
        return ["the gateway has a new certificate"]


class CertificateEnded(_Certificate):
    """See C(interface.Break)."""

    def conduct(self) -> Measured:
        """Let a certificate end, then issue and serve the next one as federated.flower.rotate_certs does."""
        bench = self._bench
        nodes = bench.expected()
        # It counts from the moment that it is issued, so it ends before this is over.
        self._break(datetime.timedelta(seconds=_SHORT))
        bench.hold(_SHORT, "the gateway's certificate is about to end")
        self._end_connections()
        begin = bench.look().now
        bench.hold(bench.lasting, "the gateway's certificate has ended")
        away = bench.cut_off(nodes, begin + 3)
        since, begun = bench.look().now, time.monotonic()
        self._repair()
        renewed = time.monotonic() - begun
        seconds, missing = bench.until_back(away, since, begun)
        return Measured(len(nodes), len(away), seconds, f"the new certificate was served after {renewed:.0f} s", missing)

    def undo(self, facts: Mapping[str, Any]) -> list[str]:
        """See C(interface.Break)."""
        return self._repair_if_ours(facts)


class ClockWrong(_Certificate):
    """See C(interface.Break)."""

    def conduct(self) -> Measured:
        """Serve a certificate that becomes valid after a while, by itself."""
        bench = self._bench
        nodes = bench.expected()
        ahead = bench.lasting + 5
        begin, begun = bench.look().now, time.monotonic()
        self._break(datetime.timedelta(days=bench.spec.certificate_days), datetime.timedelta(seconds=ahead))
        valid = time.monotonic() + ahead  # at the latest
        self._end_connections()
        broken = bench.look().now
        bench.hold(ahead - (time.monotonic() - begun) - 2, "the gateway's certificate is not valid yet")
        away = bench.cut_off(nodes, broken)
        bench.hold(max(valid - time.monotonic(), 0), "it becomes valid")
        since = bench.look().now
        seconds, missing = bench.until_back(away, since, time.monotonic())
        return Measured(len(nodes), len(away), seconds, f"not valid for {since - begin:.0f} s", missing)

    def undo(self, facts: Mapping[str, Any]) -> list[str]:
        """It is valid by itself; one that is not yet is replaced."""
        held = self._hub.secret(GATEWAY_SECRET).get("tls.crt", "")
        now = datetime.datetime.now(datetime.timezone.utc)
        if held and datetime.datetime.fromisoformat(certificates.describe(held)["not_before"]) <= now:
            return []
        return self._repair_if_ours(facts)
