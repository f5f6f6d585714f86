# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""Certificates and kubeconfigs of one cluster (P-256; created with each cluster, about 0.1 s)."""

from __future__ import annotations

import base64
import datetime
import ipaddress
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from ..settings import Cluster

SERVER, CLIENT = ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH
LIFETIME = datetime.timedelta(days=365)


def write_private(path: Path, data: bytes) -> None:
    """Write a file that only root may read."""
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as stream:
        stream.write(data)


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


@dataclass(frozen=True)
class Authority:
    """A certificate authority; its files are NAME.crt and NAME.key in ``folder``."""

    folder: Path
    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    @classmethod
    def create(cls, folder: Path, file: str, name: str) -> Authority:
        """Make a self-signed authority called ``name``."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        usage = x509.KeyUsage(
            digital_signature=True,
            content_commitment=False,
            key_encipherment=False,
            data_encipherment=False,
            key_agreement=False,
            key_cert_sign=True,
            crl_sign=True,
            encipher_only=False,
            decipher_only=False,
        )
        certificate = (
            _builder(subject, subject, key)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .add_extension(usage, critical=True)
            .sign(key, hashes.SHA256())
        )
        write_private(folder / f"{file}.crt", certificate.public_bytes(serialization.Encoding.PEM))
        write_private(folder / f"{file}.key", _key_pem(key))
        return cls(folder, certificate, key)

    def issue(
        self,
        file: str,
        name: str,
        usage: x509.ObjectIdentifier,
        *,
        group: str = "",
        names: Iterable[x509.GeneralName] = (),
    ) -> tuple[bytes, bytes]:
        """Issue FILE.crt and FILE.key for ``name``; return both as PEM."""
        key = ec.generate_private_key(ec.SECP256R1())
        organization = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group)] if group else []
        subject = x509.Name([*organization, x509.NameAttribute(NameOID.COMMON_NAME, name)])
        builder = (
            _builder(subject, self.certificate.subject, key)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key()), critical=False)
            .add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        )
        if alternatives := list(names):
            builder = builder.add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
        certificate = builder.sign(self.key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
        write_private(self.folder / f"{file}.crt", certificate)
        write_private(self.folder / f"{file}.key", _key_pem(key))
        return certificate, _key_pem(key)


def _builder(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.timezone.utc)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + LIFETIME)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def dns_names(*names: str) -> list[x509.GeneralName]:
    """Host names of a certificate."""
    return [x509.DNSName(name) for name in names]


def addresses(*texts: str) -> list[x509.GeneralName]:
    """Addresses of a certificate."""
    return [x509.IPAddress(ipaddress.ip_address(text)) for text in texts]


def create(folder: Path, cluster: Cluster) -> None:
    """Write all certificates, keys and kubeconfigs of ``cluster`` into ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)
    authority = Authority.create(folder, "ca", f"{cluster.name}-ca")
    front_proxy = Authority.create(folder, "front-proxy-ca", f"{cluster.name}-front-proxy-ca")

    service = "kubernetes.default.svc"
    authority.issue(
        "apiserver",
        "kube-apiserver",
        SERVER,
        names=[
            *dns_names(
                "kubernetes",
                "kubernetes.default",
                service,
                f"{service}.cluster.local",
                "localhost",
                cluster.name,
                cluster.hostname,
            ),
            *addresses(cluster.address, cluster.api_service_ip, "127.0.0.1"),
        ],
    )
    authority.issue(
        "kubelet-server",
        f"system:node:{cluster.name}",
        SERVER,
        group="system:nodes",
        names=[*dns_names(cluster.name, cluster.hostname), *addresses(cluster.address)],
    )
    authority.issue("apiserver-kubelet-client", "kube-apiserver-kubelet-client", CLIENT, group="system:masters")
    front_proxy.issue("front-proxy-client", "front-proxy-client", CLIENT)
    tokens = ec.generate_private_key(ec.SECP256R1())
    write_private(folder / "sa.key", _key_pem(tokens))
    write_private(
        folder / "sa.pub",
        tokens.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo),
    )
    for file, name, group in (
        ("controller-manager", "system:kube-controller-manager", ""),
        ("scheduler", "system:kube-scheduler", ""),
        ("proxy", "system:kube-proxy", ""),
        ("kubelet", f"system:node:{cluster.name}", "system:nodes"),
        ("admin", "fleet-admin", "system:masters"),
    ):
        certificate, key = authority.issue(file, name, CLIENT, group=group)
        ca = (folder / "ca.crt").read_bytes()
        entry = kubeconfig_entry(cluster, ca, certificate_user(certificate, key))
        write_private(folder / f"{file}.kubeconfig", kubeconfig([entry]))


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def certificate_user(certificate: bytes, key: bytes) -> dict[str, str]:
    """User of a kubeconfig who has a certificate."""
    return {"client-certificate-data": _text(certificate), "client-key-data": _text(key)}


def kubeconfig_entry(cluster: Cluster, ca: bytes, user: dict[str, str]) -> dict[str, dict[str, Any]]:
    """Cluster, user and context of a kubeconfig, all called like the cluster."""
    return {
        "cluster": {
            "name": cluster.name,
            "cluster": {"server": cluster.server, "certificate-authority-data": _text(ca)},
        },
        "user": {"name": cluster.name, "user": user},
        "context": {"name": cluster.name, "context": {"cluster": cluster.name, "user": cluster.name}},
    }


def kubeconfig(entries: Sequence[dict[str, dict[str, Any]]]) -> bytes:
    """A kubeconfig (JSON, which is YAML too) with these entries; the first one's context is the current one."""
    return (
        json.dumps(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "preferences": {},
                "current-context": entries[0]["context"]["name"],
                "clusters": [entry["cluster"] for entry in entries],
                "users": [entry["user"] for entry in entries],
                "contexts": [entry["context"] for entry in entries],
            },
            indent=2,
        ).encode()
        + b"\n"
    )


def merged(state: Path, clusters: Sequence[Cluster]) -> bytes:
    """One kubeconfig with the administrators of all ``clusters``."""

    def entry(cluster: Cluster) -> dict[str, dict[str, Any]]:
        ca, *pair = (
            (state / cluster.name / "pki" / name).read_bytes() for name in ("ca.crt", "admin.crt", "admin.key")
        )
        return kubeconfig_entry(cluster, ca, certificate_user(*pair))

    return kubeconfig([entry(cluster) for cluster in clusters])
