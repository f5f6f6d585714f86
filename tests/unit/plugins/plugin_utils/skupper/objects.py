# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Live objects of Skupper as an API server returns them, for the tests beside this file."""

from __future__ import annotations

import base64

API = "skupper.io/v2alpha1"
OURS = {"app.kubernetes.io/managed-by": "federated.flower"}
ENDPOINTS = [
    {"name": "inter-router", "host": "192.0.2.7", "port": "55671", "group": "skupper-router"},
    {"name": "edge", "host": "192.0.2.7", "port": "45671", "group": "skupper-router"},
]


def condition(kind, good=True, message="OK", generation=1):
    return {
        "type": kind,
        "status": "True" if good else "False",
        "reason": "Ready" if good else "Pending",
        "message": message,
        "observedGeneration": generation,
    }


def live(kind, name, spec=None, *conditions, ours=True, uid="", going=False, owners=(), **status):
    meta = {
        "name": name,
        "namespace": "flower",
        "uid": uid or f"uid-of-{name}",
        "generation": 1,
        "labels": OURS if ours else {},
    }
    if going:
        meta["deletionTimestamp"] = "2026-11-21T10:00:00Z"
    if owners:
        meta["ownerReferences"] = [{"kind": owner, "uid": f"uid-of-{owner}"} for owner in owners]
    found = {"conditions": list(conditions), **status} if conditions or status else {}
    return {
        "apiVersion": API,
        "kind": kind,
        "metadata": meta,
        "spec": spec or {},
        **({"status": found} if found else {}),
    }


def site(name="site-a", access="", **more):
    spec = {"linkAccess": access} if access else {}
    parts = [
        condition("Configured"),
        condition("Running"),
        *([condition("Resolved")] if access else []),
        condition("Ready"),
    ]
    if access:
        more.setdefault("endpoints", ENDPOINTS)
    return live("Site", name, spec, *more.pop("conditions", parts), **more)


def hub_site(**more):
    return site("hub", "default", uid="uid-of-hub", **more)


def link(name="flower-hub-skupper-router", up=True, remote="uid-of-hub", credentials="flower-hub", **more):
    spec = {"endpoints": more.pop("endpoints", ENDPOINTS), "tlsCredentials": credentials}
    parts = [
        condition("Configured"),
        condition("Operational", up, "OK" if up else "Not Operational"),
        condition("Ready", up),
    ]
    return live("Link", name, spec, *parts, remoteSiteId=remote if up else "", remoteSiteName="hub", **more)


def secret(name, entries, *, ours=True, owners=()):
    made = live("Secret", name, ours=ours, owners=owners)
    data = {key: base64.b64encode(value.encode()).decode() for key, value in entries.items()}
    return {**made, "apiVersion": "v1", "type": "kubernetes.io/tls", "data": data}


def token(message="", *, redeemed=False, ours=True):
    parts = [condition("Redeemed", redeemed, message or "OK")] if message or redeemed else []
    more = {"redeemed": True} if redeemed else {}
    return live("AccessToken", "flower-hub", {}, *parts, ours=ours, **({"message": message} if message else {}), **more)


def grant(ends="2026-11-21T12:10:00Z", redemptions=0, *, ready=True, ours=True, **more):
    given = {"url": "https://192.0.2.7:9090/uid", "code": "secret-code", "ca": "PEM"} if ready else {}
    return live(
        "AccessGrant",
        "flower-site-a",
        {"redemptionsAllowed": 1},
        condition("Processed"),
        condition("Resolved", ready, "OK" if ready else "Pending"),
        condition("Ready", ready),
        ours=ours,
        expirationTime=ends,
        redemptions=redemptions,
        **given,
        **more,
    )
