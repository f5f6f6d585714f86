# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The CA of a federation in its own Secret: the current one, and during a rotation the next and the previous one.

The Secret's entries: C(tls.crt) and C(tls.key) of the CA that signs now, C(next.crt) and C(next.key) of the one that
will, C(previous.crt) of those that did. Sites trust all of them, so none loses its connection by a rotation of the CA.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..pki import certificates


@dataclass(frozen=True)
class Authority:
    """A CA and its neighbours in time.

    Attributes:
        current: signs certificates now.
        next: will sign after a switch; None outside of a rotation.
        previous: certificates of CAs that signed before, PEM; may be empty.
    """

    current: certificates.Issued
    next: certificates.Issued | None = None
    previous: str = ""

    @classmethod
    def read(cls, entries: Mapping[str, str]) -> Authority | None:
        """From the Secret's entries; None when it has no CA."""
        if not {"tls.crt", "tls.key"} <= set(entries):
            return None
        following = None
        if {"next.crt", "next.key"} <= set(entries):
            following = certificates.Issued(entries["next.crt"], entries["next.key"])
        return cls(
            certificates.Issued(entries["tls.crt"], entries["tls.key"]), following, entries.get("previous.crt", "")
        )

    def entries(self) -> dict[str, str]:
        """The Secret's entries."""
        found = {"tls.crt": self.current.certificate, "tls.key": self.current.key}
        if self.next is not None:
            found.update({"next.crt": self.next.certificate, "next.key": self.next.key})
        if self.previous:
            found["previous.crt"] = self.previous
        return found

    @property
    def bundle(self) -> str:
        """What sites trust, PEM."""
        return trust_bundle(self.current.certificate, self.next.certificate if self.next else "", self.previous)


def trust_bundle(current: str, following: str = "", previous: str = "") -> str:
    """What sites trust: the CAs that did sign, sign now, and will sign.

    Args:
        current: PEM certificates; so are the others, and each may be empty.

    Returns:
        PEM without anything but certificates (SuperNodes hang with a trust file that is not ASCII), each once. They are in
        the order of time, so the text stays the same when the next CA becomes the current one, and no pod restarts because of it.
    """
    return "".join(dict.fromkeys(found for part in (previous, current, following) for found in certificates.split(part)))
