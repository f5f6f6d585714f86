# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A real tinyproxy of Debian's package on this machine, whose words are others than squid's."""

from __future__ import annotations

from ansible_collections.federated.flower.tests.integration.local_proxy import LocalProxy

#: Kind of proxy -> its name: with a login, and with a login and another port than the hub's.
LOGIN, NARROW = "login", "narrow"


class Tinyproxy(LocalProxy):
    """A running tinyproxy for each kind.

    Args:
        towards: a host in whose direction the address of this machine is taken.
        port: the only port to which the first one lets connections pass.
        login: user name and password.
        idle: seconds after which it cuts a tunnel in which nothing passes.
    """

    def __init__(self, towards: str, port: int, login: tuple[str, str], idle: int) -> None:
        super().__init__(towards, (LOGIN, NARROW))
        self._program = self.package("tinyproxy") / "usr/bin/tinyproxy"
        for kind, allowed in ((LOGIN, port), (NARROW, 443)):
            lines = (
                f"Port {self.ports[kind]}", f"Listen {self.host}", f"Timeout {idle}", "MaxClients 100", "LogLevel Connect",
                f'LogFile "{self.folder}/{kind}.log"', f"BasicAuth {login[0]} {login[1]}", f"ConnectPort {allowed}",
            )  # fmt: skip
            file = self.folder / f"{kind}.conf"
            file.touch(mode=0o600)
            file.write_text("\n".join(lines) + "\n")

    def commands(self) -> list[list[str]]:
        """See C(LocalProxy)."""
        return [[str(self._program), "-d", "-c", str(self.folder / f"{kind}.conf")] for kind in self.ports]
