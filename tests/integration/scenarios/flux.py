# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What Flux does with the files of a repository, on a real API server: the same requests under the name of its field manager."""

from __future__ import annotations

FLUX = "kustomize-controller"


def reconcile(cluster, objects, *, force=True):
    """Apply objects as Flux does."""
    for item in objects:
        path = cluster.resource(item["apiVersion"], item["kind"]).path(item["metadata"].get("namespace"), item["metadata"]["name"])
        query = {"fieldManager": FLUX, "force": "true" if force else "false"}
        cluster.request("PATCH", path, body=item, query=query, content_type="application/apply-patch+yaml")


def prune(cluster, before, after):
    """Delete what is not in the files any more, as Flux does it."""
    there = {(item["kind"], item["metadata"]["name"]) for item in after}
    for item in before:
        meta = item["metadata"]
        if (item["kind"], meta["name"]) not in there:
            cluster.delete(item["apiVersion"], item["kind"], meta["name"], meta.get("namespace"), propagation="Background")


def bare(item):
    """The object without any field: who applies this releases all that it has."""
    names = {key: item["metadata"][key] for key in ("name", "namespace") if key in item["metadata"]}
    return {key: item[key] for key in ("apiVersion", "kind")} | {"metadata": names}
