# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults of a superlink spec (see spec/hub_spec.py for its shape)."""

from __future__ import annotations

import datetime

from ..apply.compare import quantity
from ..base.addresses import is_ip
from ..base.platforms import settled
from ..base.times import duration
from ..base.values import boolean, integer, text
from ..hub.certificate_plan import BUILTIN, CERT_MANAGER, EXISTING, SOURCES
from ..manifests import outputs, tracking
from ..manifests import superlink as manifests
from ..manifests.exposures.exposure_registry import EXPOSURES
from ..spec.hub_spec import HubSpec, serverapp_of
from . import program_options
from .faults import MAX_DAYS, MAX_SECONDS, Faults, Spec, common_faults, patch_faults, placement_faults
from .metrics_faults import metrics_faults
from .own_volumes import SERVERAPP_PATHS, SERVERAPP_VOLUMES, SUPERLINK_PATHS, SUPERLINK_VOLUMES
from .policy_faults import peer_faults, policy_faults
from .tracking_faults import tracking_faults

# cert-manager, pkg/apis/certmanager/v1/const.go: MinimumRenewBefore.
_CERT_MANAGER_RENEWS = datetime.timedelta(minutes=5)
CLIENT_CERTIFICATES = ("required", "optional", "none")
ACCESS_MODES = ("ReadWriteOnce", "ReadWriteOncePod")


def superlink_faults(spec: Spec) -> list[str]:
    """All faults of the spec, each a sentence; an empty list if there is none."""
    spec = settled(spec)
    faults = Faults(spec, "superlink_")
    common_faults(spec, faults)
    _exposure_faults(spec, faults)
    policy_faults(spec, faults)
    peer_faults("allowed_sources", spec.get("allowed_sources"), faults, ports=False)
    peer_faults("serverapp_egress", spec.get("serverapp_egress"), faults)

    if faults.quantity("storage_size", spec.get("storage_size")) and not quantity(text(spec.get("storage_size"))):
        faults.add("storage_size", spec.get("storage_size"), "leaves no room for the database")
    if spec.get("storage_class"):
        faults.subdomain("storage_class", spec["storage_class"])
    if spec.get("storage_access_mode"):
        faults.choice("storage_access_mode", spec["storage_access_mode"], ACCESS_MODES)

    faults.resources("resources", spec.get("resources"))
    faults.env("env", spec.get("env"))
    faults.arguments("extra_args", spec.get("extra_args"), program_options.SUPERLINK)
    app_names, app_paths = _app_volumes(spec)
    beside = spec.get("isolation") == "subprocess"
    faults.volumes(
        "volumes",
        spec.get("volumes"),
        "volume_mounts",
        spec.get("volume_mounts"),
        SUPERLINK_VOLUMES | (app_names if beside else set()),
        SUPERLINK_PATHS | (app_paths if beside else set()),
    )
    _outputs_faults(spec, faults)
    tracking_faults(spec, faults)
    metrics_faults(spec, faults)
    placement_faults(spec, faults)

    faults.resources("gateway_resources", spec.get("gateway_resources"))
    faults.number("gateway_max_connections", spec.get("gateway_max_connections"), 1, 100000)
    # The largest request of a SuperNode is a 5 MiB chunk with its envelope.
    faults.number("gateway_max_body_bytes", spec.get("gateway_max_body_bytes"), 6 * 2**20, 2**31 - 1)
    faults.number("gateway_max_site_calls", spec.get("gateway_max_site_calls"), 1, 200)
    faults.number("wait_timeout", spec.get("wait_timeout"), 1, MAX_SECONDS)
    faults.number("client_certificate_days", spec.get("client_certificate_days"), 1, MAX_DAYS)
    faults.number("gateway_source_rate", spec.get("gateway_source_rate"), 0)
    faults.networks("gateway_denied_sources", spec.get("gateway_denied_sources"))
    asked = spec.get("client_certificates")
    if (
        faults.choice("client_certificates", asked, CLIENT_CERTIFICATES)
        and asked != "none"
        and boolean(spec.get("insecure"))
    ):
        faults.add("client_certificates", asked, "has no meaning without TLS: insecure is true; use none")

    own = serverapp_of(spec)
    faults.resources("serverapp_resources", own.get("resources"))
    faults.gpu("serverapp_gpu", own.get("gpu"), own.get("resources"))
    faults.env("serverapp_env", own.get("env"))
    faults.arguments("serverapp_extra_args", own.get("extra_args"), program_options.SERVERAPP)
    faults.volumes(
        "serverapp_volumes",
        own.get("volumes"),
        "serverapp_volume_mounts",
        own.get("volume_mounts"),
        SERVERAPP_VOLUMES | app_names,
        SERVERAPP_PATHS | app_paths | ({"/dev/shm"} if own.get("shm_size") else set()),
    )
    if own.get("shm_size"):
        faults.quantity("serverapp_shm_size", own["shm_size"])
    placement_faults(own, faults, "serverapp_")
    if spec.get("isolation") == "subprocess" and own.get("gpu"):
        faults.add(
            "serverapp_gpu",
            own["gpu"],
            "has no pod to go to: with subprocess isolation the ServerApp runs in SuperLink's",
        )
    if spec.get("isolation") == "subprocess" and spec.get("serverapp_image") and not spec.get("image"):
        faults.add(
            "serverapp_image",
            spec["serverapp_image"],
            "has no effect: with subprocess isolation ServerApps run in SuperLink's container. Set superlink_image to an image with "
            "flower-superlink and the app's packages, or superlink_isolation to process",
        )
    _certificate_faults(spec, faults)
    if faults.sequence("certificate_names", spec.get("certificate_names")):
        for number, name in enumerate(spec.get("certificate_names") or []):
            if not is_ip(text(name)):
                faults.subdomain(f"certificate_names[{number}]", name)

    patch_faults(spec, faults, lambda: manifests.objects(HubSpec.parse(spec).complete()))
    return faults.found


def _app_volumes(spec: Spec) -> tuple[set[str], set[str]]:
    """Names and paths of the volumes that ServerApps have, wherever they compute."""
    found = [
        (outputs.VOLUME, outputs.ROOT, boolean(spec.get("outputs_enabled"))),
        (outputs.STARTER, outputs.STARTER_ROOT, boolean(spec.get("outputs_enabled"))),
        (tracking.VOLUME, tracking.ROOT, bool(spec.get("tracking"))),
    ]
    return {name for name, _path, is_there in found if is_there}, {path for _name, path, is_there in found if is_there}


def _outputs_faults(spec: Spec, faults: Faults) -> None:
    claim = spec.get("outputs_claim")
    if not boolean(spec.get("outputs_enabled")):
        if claim:
            faults.add(
                "outputs_claim", claim, "has no effect: outputs_enabled is false; set it to true, or remove the claim"
            )
        return
    if claim:
        faults.subdomain("outputs_claim", claim)
        if spec.get("outputs_storage_class"):
            faults.add(
                "outputs_storage_class",
                spec["outputs_storage_class"],
                "has no effect on an existing claim (outputs_claim); remove one of the two",
            )
    elif spec.get("outputs_storage_class"):
        faults.subdomain("outputs_storage_class", spec["outputs_storage_class"])
    faults.resources("outputs_resources", spec.get("outputs_resources"))
    sized = faults.quantity("outputs_size", spec.get("outputs_size"))
    floored = faults.quantity("outputs_min_free", spec.get("outputs_min_free"))
    if not (sized and floored) or claim:
        return
    size, floor = quantity(text(spec.get("outputs_size"))), quantity(text(spec.get("outputs_min_free")))
    if not size:
        faults.add(
            "outputs_size", spec.get("outputs_size"), "leaves no room; set outputs_enabled to false for no outputs"
        )
    elif floor is not None and floor >= size:
        faults.add(
            "outputs_min_free",
            spec.get("outputs_min_free"),
            f"is not below outputs_size ({spec.get('outputs_size')}), so that no run would ever be submitted",
        )


def _certificate_faults(spec: Spec, faults: Faults) -> None:
    source = spec.get("certificates_source")
    if not faults.choice("certificates_source", source, SOURCES):
        return
    if boolean(spec.get("insecure")) and source != BUILTIN:
        faults.add("certificates_source", source, "has nothing to serve: insecure is true")
    if spec.get("certificate_secret"):
        faults.subdomain("certificate_secret", spec["certificate_secret"])
        if source != EXISTING:
            faults.add(
                "certificate_secret", spec["certificate_secret"], f"has no effect with certificates_source {source}"
            )
    issuer = spec.get("issuer")
    if faults.mapping("issuer", issuer):
        given = issuer or {}
        for key in given:
            if key not in ("name", "kind", "group"):
                faults.add(f"issuer.{key}", given[key], "is not one of name, kind, group")
        if source == CERT_MANAGER and not given.get("name"):
            faults.add("issuer", issuer, "has no name; cert-manager signs with an Issuer or ClusterIssuer")
        elif source != CERT_MANAGER and issuer:
            faults.add("issuer", issuer, f"has no effect with certificates_source {source}")
        for key in ("name", "group"):
            if given.get(key):
                faults.subdomain(f"issuer.{key}", given[key])
    if not faults.number("certificate_days", spec.get("certificate_days"), 1, MAX_DAYS):
        return
    try:
        before = duration(spec.get("renew_before"))
    except ValueError:
        faults.add("renew_before", spec.get("renew_before"), "is not a duration like 30d, 12h, 10m or 40s")
        return
    days = integer(spec.get("certificate_days")) or 90
    if before is not None and not datetime.timedelta() < before < datetime.timedelta(days=days):
        faults.add(
            "renew_before",
            spec.get("renew_before"),
            f"is not between 0 and the {days} days of superlink_certificate_days",
        )
    elif before is not None and source == CERT_MANAGER and before < _CERT_MANAGER_RENEWS:
        faults.add("renew_before", spec.get("renew_before"), "is less than the 5 minutes that cert-manager needs")


def _exposure_faults(spec: Spec, faults: Faults) -> None:
    if not faults.choice("exposure", spec.get("exposure"), EXPOSURES):
        return
    exposure = EXPOSURES[spec["exposure"]]
    faults.port("port", spec.get("port"))
    faults.port("node_port", spec.get("node_port"))
    faults.labels("service_labels", spec.get("service_labels"))
    for key in ("service_annotations", "ingress_annotations", "route_annotations"):
        faults.labels(key, spec.get(key), values=False)
    faults.networks("load_balancer_source_ranges", spec.get("load_balancer_source_ranges"))
    if spec.get("external_traffic_policy"):
        faults.choice("external_traffic_policy", spec["external_traffic_policy"], ("Cluster", "Local"))
    host = spec.get("host")
    if host and (exposure.passes_tls or not is_ip(text(host))):
        faults.subdomain("host", host)
    exposure.add_faults(spec, faults)
    if exposure.passes_tls and boolean(spec.get("insecure")):
        faults.add("exposure", exposure.name, "passes TLS through, but there is none: insecure is true")
    others = {option: None for other in EXPOSURES.values() for option in other.options}
    for key in others:
        if spec.get(key) and key not in exposure.options:
            faults.add(key, spec[key], f"has no effect with exposure {exposure.name}")
