# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Explain a failed connection in a sentence with the remedy."""

from __future__ import annotations

import contextlib
import socket
import ssl

with contextlib.suppress(ImportError):  # reported by resolve()
    from urllib3.exceptions import (
        ConnectTimeoutError,
        NewConnectionError,
        ProtocolError,
        ProxyError,
        ReadTimeoutError,
        SSLError,
    )


def nothing_sent(error: BaseException) -> bool:
    """Did it fail before the request could have reached the API server?

    urllib3 calls some errors of an established tunnel a ProxyError too, so its word alone is not enough.
    """
    if isinstance(error, ProxyError):
        error = error.original_error
        if "Tunnel connection failed" in str(error):
            return True
    return isinstance(error, (NewConnectionError, ConnectTimeoutError))


def worth_repeating(error: BaseException) -> bool:
    """Certificates and unknown names do not change within a second."""
    cause = _root(error)
    if isinstance(cause, ssl.SSLCertVerificationError):
        return False
    if isinstance(cause, socket.gaierror):
        return cause.errno == socket.EAI_AGAIN
    return not isinstance(error, SSLError) or isinstance(cause, (ConnectionError, ssl.SSLEOFError))


def _root(error: BaseException) -> BaseException:
    """The exception at the bottom of what urllib3 wrapped."""
    seen = set()
    while id(error) not in seen:
        seen.add(id(error))
        inner = getattr(error, "original_error", None) or getattr(error, "reason", None)
        if not isinstance(inner, BaseException):
            inner = next((arg for arg in error.args if isinstance(arg, BaseException)), None)
        inner = inner or error.__cause__ or (None if error.__suppress_context__ else error.__context__)
        if inner is None:
            break
        error = inner
    return error


def explain(error: BaseException, where: str, through: str, host: str, timeout: float) -> str:
    cause = _root(error)
    if isinstance(cause, ssl.SSLCertVerificationError):
        return (
            f"the certificate of {where}{through} is not trusted: {cause.verify_message}. "
            "Set the cluster's CA (ca_cert, or certificate-authority-data in the kubeconfig), "
            "or check that the address is the right one."
        )
    if isinstance(cause, ssl.SSLError):
        return (
            f"no TLS connection to {where}{through}: {one_line(cause)}. "
            "Is the client certificate valid, and is this the port of the API server?"
        )
    if isinstance(cause, socket.gaierror) or type(error).__name__ == "NameResolutionError":
        name = host if not through else f"{host} (or the proxy)"
        return f"the name {name} of {where}{through} cannot be resolved: {one_line(cause)}. Check the server address and DNS."
    if isinstance(cause, ConnectionRefusedError):
        return f"{where}{through} refuses connections. Is it running, and are address and port right?"
    timed_out = isinstance(error, (ConnectTimeoutError, ReadTimeoutError)) or isinstance(cause, TimeoutError)
    if timed_out and not (isinstance(error, NewConnectionError) and not isinstance(cause, TimeoutError)):
        if isinstance(error, ReadTimeoutError) or type(error).__name__ == "WebSocketTimeoutException":
            return (
                f"{where}{through} accepted the connection and did not answer within {timeout:g} s. It, or what is before it, is slow or overloaded: run "
                "again, or wait longer for each answer (flower_api_timeout, in seconds)."
            )
        return f"no connection from {where}{through}: time-out. Is there a route to it, and no firewall in between?"
    if isinstance(error, ProtocolError) or isinstance(cause, ConnectionError):
        return (
            f"{where}{through} closed the connection: {one_line(cause)}. Was the request done? Run again: it is safe."
        )
    if isinstance(error, ProxyError) or "Tunnel connection failed" in str(cause):
        return f"{where} cannot be reached{through}: {one_line(cause)}. Check proxy, proxy_headers and no_proxy."
    why = (cause.strerror if isinstance(cause, OSError) else None) or one_line(cause)
    return (
        f"{where}{through} cannot be reached: {why}. Is there a route from this machine to it, and is the address (flower_context, flower_kubeconfig or "
        "flower_auth) the right one?"
    )


def one_line(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__
