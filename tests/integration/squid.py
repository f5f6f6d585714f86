# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A real squid of Debian's package on this machine, with one port for each kind of HTTP proxy that a site may have."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
from datetime import timedelta
from pathlib import Path

from ansible_collections.federated.flower.plugins.plugin_utils.pki import certificates
from ansible_collections.federated.flower.tests.integration.local_proxy import LocalProxy

#: Kind of proxy -> its name in the configuration.
OPEN, LOGIN, NARROW, INTERCEPTING = "open", "login", "narrow", "intercepting"
KINDS = (OPEN, LOGIN, NARROW, INTERCEPTING)
USER = "proxy"  # Debian's, to which squid changes


class Squid(LocalProxy):
    """A running squid.

    Args:
        towards: a host in whose direction the address of this machine is taken.
        port: the only port to which it lets connections pass.
        login: user name and password for the port C(LOGIN).
        idle: seconds after which it cuts a tunnel in which nothing passes.
        names: names that it knows, with their addresses.
    """

    def __init__(self, towards: str, port: int, login: tuple[str, str], idle: int, names: dict[str, str]) -> None:
        super().__init__(towards, KINDS)
        self.root = self.folder / "root"
        # Squid starts its helpers as another user, who may not read the cache.
        shutil.copytree(self.package("squid"), self.root, symlinks=True)
        self._write(port, login, idle, names)

    def commands(self) -> list[list[str]]:
        """See C(LocalProxy)."""
        return [[str(self.root / "usr/sbin/squid"), "-N", "-f", str(self.folder / "squid.conf")]]

    def _place(self, *names: str) -> Path:
        """The first file that is there: of the package, or of this machine, which may have it installed."""
        return next(path for name in names for path in (self.root / name, Path("/") / name) if path.exists())

    def _write(self, port: int, login: tuple[str, str], idle: int, names: dict[str, str]) -> None:
        hashed = subprocess.run(["openssl", "passwd", "-apr1", "-stdin"], input=login[1], capture_output=True, text=True, check=True)
        (self.folder / "users").write_text(f"{login[0]}:{hashed.stdout.strip()}\n")
        (self.folder / "hosts").write_text("".join(f"{address} {name}\n" for name, address in names.items()))
        ca = certificates.make_ca("Interception of an office", timedelta(days=1))
        (self.folder / "ca.pem").write_text(ca.certificate + ca.key)
        helpers = self.root / "usr/lib/squid"
        bump = f"ssl-bump generate-host-certificates=on tls-cert={self.folder}/ca.pem"
        lines = [
            *(f"http_port {self.address(kind)} name={kind} {bump if kind == INTERCEPTING else ''}" for kind in KINDS),
            f"sslcrtd_program {helpers}/security_file_certgen -s {self.folder}/ssl -M 4MB",
            "sslcrtd_children 2 startup=1",
            f"acl hub port {port}",
            *(f"acl {kind} myportname {kind}" for kind in KINDS),
            f"auth_param basic program {helpers}/basic_ncsa_auth {self.folder}/users",
            "auth_param basic children 2 startup=1",
            "auth_param basic credentialsttl 1 second",
            "acl known proxy_auth REQUIRED",
            "http_access deny !CONNECT",
            "http_access deny narrow",
            "http_access deny !hub",
            "http_access allow login known",
            "http_access deny login",
            "http_access allow all",
            "ssl_bump bump intercepting",
            "ssl_bump none all",
            "sslproxy_cert_error allow all",
            f"read_timeout {idle} seconds",
            f"hosts_file {self.folder}/hosts",
            f"mime_table {self._place('usr/share/squid/mime.conf')}",
            f"icon_directory {self._place('usr/share/squid/icons')}",
            f"error_directory {self._place('usr/share/squid/errors/en', 'usr/share/squid/errors/English', 'usr/share/squid/errors/templates')}",
            f"access_log stdio:{self.folder}/access.log",
            f"cache_log {self.folder}/cache.log",
            f"coredump_dir {self.folder}",
            f"unlinkd_program {helpers}/unlinkd",
            f"logfile_daemon {helpers}/log_file_daemon",
            "pid_filename none",
            "netdb_filename none",
            "pinger_enable off",
            "cache deny all",
            "cache_mem 8 MB",
            "shutdown_lifetime 0 seconds",
            "visible_hostname proxy",
        ]
        (self.folder / "squid.conf").write_text("\n".join(lines) + "\n")
        libraries = sorted({str(path.parent) for path in self.root.rglob("*.so*")})
        self.env = {**os.environ, "LD_LIBRARY_PATH": ":".join(libraries)}
        command = [str(helpers / "security_file_certgen"), "-c", "-s", str(self.folder / "ssl"), "-M", "4MB"]
        subprocess.run(command, env=self.env, check=True, stdout=subprocess.DEVNULL)
        if not os.geteuid():
            user = pwd.getpwnam(USER)
            for path in [self.folder, *(path for path in self.folder.rglob("*") if not path.is_relative_to(self.root))]:
                os.chown(path, user.pw_uid, user.pw_gid)

    def log(self) -> list[list[str]]:
        """The words of each line of its log: time, milliseconds, client, result, bytes, method, target, user …"""
        path = self.folder / "access.log"
        return [line.split() for line in path.read_text().splitlines()] if path.exists() else []
