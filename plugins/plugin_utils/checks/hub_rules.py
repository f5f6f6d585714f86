# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is refused of the variables of a hub: the form of each, and how they fit each other (see C(spec/hub_spec.py))."""

from __future__ import annotations

from collections.abc import Mapping

from ..apply.compare import quantity
from ..base.addresses import is_ip
from ..base.platforms import with_platform_values
from ..base.problems import Problem
from ..base.values import boolean, text
from ..manifests import object_storage, outputs, superlink, tracking
from ..manifests.exposure import EXPOSURES, Exposure
from ..spec.hub_spec import HubSpec, serverapp_of
from . import connection_rules, pod_rules, program_options
from .certificate_rules import certificates
from .value_checks import MAX_SECONDS, Check, Problems, Rule, Spec, flag, for_each, given, networks, number, port

_HUB: Mapping[str, Check] = {
    **pod_rules.COMMON,
    **connection_rules.POLICIES,
    **pod_rules.PODS,
    **{f"serverapp_{key}": check for key, check in pod_rules.PODS.items()},
    # Exposure
    "port": port,
    "node_port": port,
    "service_labels": Problems.labels,
    "service_annotations": Problems.annotations,
    "ingress_annotations": Problems.annotations,
    "route_annotations": Problems.annotations,
    "load_balancer_source_ranges": networks,
    # Connections
    "allowed_sources": connection_rules.peers,
    "serverapp_egress": connection_rules.peers,
    "gateway_denied_sources": networks,
    "gateway_source_rate": number(0),
    "gateway_max_connections": number(1, 100000),
    "gateway_max_body_bytes": number(6 * 2**20, 2**31 - 1),  # the largest request of a SuperNode is a 5 MiB chunk with its envelope
    "gateway_max_site_calls": number(1, 200),
    "gateway_resources": pod_rules.resources,
    "storage_class": given(Problems.subdomain),
    "wait_timeout": number(1, MAX_SECONDS),
}
_GATEWAY: Mapping[str, Check] = {"name": Problems.subdomain, "namespace": given(Problems.label), "section": given(Problems.subdomain)}
_OUTPUTS: Mapping[str, Check] = {
    "outputs_claim": given(Problems.subdomain),
    "outputs_storage_class": given(Problems.subdomain),
    "outputs_resources": pod_rules.resources,
}


_insecure, _has_outputs = flag("insecure"), flag("outputs_enabled")


def _exposure(spec: Spec) -> Exposure:
    return EXPOSURES[spec.get("exposure") or Exposure.name]


def _beside(spec: Spec) -> bool:
    """Whether ServerApps run in the SuperLink's container."""
    return spec.get("isolation") == "subprocess"


_RULES = (
    Rule("server_name", lambda spec: _insecure(spec) and spec.get("server_name"), "is a name in a certificate, but there is none: insecure is true"),
    Rule("exposure", lambda spec: _exposure(spec).passes_tls and _insecure(spec), "passes TLS through, but there is none: insecure is true"),
    Rule("host", lambda spec: _exposure(spec).needs_host and not spec.get("host"),
         "is empty; what passes TLS through finds the gateway by this name"),
    Rule("gateway", lambda spec: "gateway" in _exposure(spec).options and not spec.get("gateway"),
         "is empty; name the Gateway to which the TLSRoute is attached: {{name: …, namespace: …}}"),
    *for_each(
        dict.fromkeys(option for one in EXPOSURES.values() for option in one.options),
        lambda spec, option: spec.get(option) and option not in _exposure(spec).options,
        "has no effect with exposure {exposure}",
    ),
    Rule("serverapp_gpu", lambda spec: _beside(spec) and spec.get("serverapp_gpu"),
         "applies to no pod: with subprocess isolation the ServerApp runs in SuperLink's"),
    Rule("serverapp_image", lambda spec: _beside(spec) and spec.get("serverapp_image") and not spec.get("image"),
         "has no effect: with subprocess isolation ServerApps run in SuperLink's container. Set superlink_image to an image with flower-superlink and the "
         "app's packages, or superlink_isolation to process"),
    Rule("outputs_claim", lambda spec: spec.get("outputs_claim") and not _has_outputs(spec),
         "has no effect: outputs_enabled is false; set it to true, or remove the claim"),
    Rule("outputs_storage_class", lambda spec: _has_outputs(spec) and spec.get("outputs_claim") and spec.get("outputs_storage_class"),
         "has no effect on an existing claim (outputs_claim); remove one of the two"),
)


_enabled = flag("enabled")
_METRICS_RULES = (
    *for_each(("monitor", "acm", "runs"), lambda metrics, key: not _enabled(metrics) and boolean(metrics.get(key)),
              "has no effect: metrics.enabled is not true; set it, or remove this"),
    Rule("acm", lambda metrics: _enabled(metrics) and boolean(metrics.get("acm")) and not boolean(metrics.get("monitor")),
         "has no effect: metrics.monitor is not true, so no Prometheus of OpenShift reads the metrics; set it"),
)


def hub_problems(spec: Spec) -> list[Problem]:
    """All that is wrong with the variables of a hub; their types are checked."""
    spec = with_platform_values(spec)
    found = Problems(spec, "superlink_")
    found.check(_HUB, spec)
    found.apply(_RULES, spec)
    if spec.get("host") and (_exposure(spec).passes_tls or not is_ip(text(spec["host"]))):
        found.subdomain("host", spec["host"])
    if spec.get("gateway"):
        found.check(_GATEWAY, spec["gateway"], "gateway.")
    certificates(found, spec)
    if found.quantity("storage_size", spec.get("storage_size")) and not quantity(text(spec.get("storage_size"))):
        found.add("storage_size", spec.get("storage_size"), "leaves no space for the database")
    if _has_outputs(spec):
        _outputs_size(found, spec)
    connection_rules.tracking(found, spec)
    connection_rules.storage(found, spec)
    found.check({"resources": pod_rules.resources}, spec.get("outputs_s3") or {}, "outputs_s3.")
    metrics = spec.get("metrics") or {}
    found.check({"resources": pod_rules.resources, "api_server": connection_rules.peers}, metrics, "metrics.")
    found.apply(_METRICS_RULES, metrics, "metrics.")

    own = serverapp_of(spec)
    # Names and paths of the volumes that ServerApps have, wherever they compute.
    names, paths = set[str](), set[str]()
    if _has_outputs(spec):
        names |= {outputs.VOLUME, outputs.STARTER}
        paths |= {outputs.ROOT, outputs.STARTER_ROOT}
    if spec.get("tracking"):
        names.add(tracking.VOLUME)
        paths.add(tracking.ROOT)
    names |= {object_storage.VOLUME} if spec.get("outputs_s3") else set()
    beside = (names, paths) if _beside(spec) else (set[str](), set[str]())
    pod_rules.volumes(found, spec, "", pod_rules.SUPERLINK_VOLUMES | beside[0], pod_rules.SUPERLINK_PATHS | beside[1])
    paths |= {"/dev/shm"} if own.get("shm_size") else set()
    pod_rules.volumes(found, own, "serverapp_", pod_rules.SERVERAPP_VOLUMES | names, pod_rules.SERVERAPP_PATHS | paths)
    pod_rules.gpu(found, "serverapp_gpu", own.get("gpu"), own.get("resources"))
    for key, program in (("extra_args", program_options.SUPERLINK), ("serverapp_extra_args", program_options.SERVERAPP)):
        pod_rules.arguments(found, key, spec.get(key), program, spec.get("version"))
    pod_rules.patches(found, spec, lambda: superlink.objects(HubSpec.parse(spec).complete()))
    return found.found


def _outputs_size(found: Problems, spec: Spec) -> None:
    found.check(_OUTPUTS, spec)
    is_good = [found.quantity(key, spec.get(key)) for key in ("outputs_size", "outputs_min_free")]
    size, least = (quantity(text(spec.get(key))) for key in ("outputs_size", "outputs_min_free"))
    if not all(is_good) or spec.get("outputs_claim"):
        return
    if not size:
        found.add("outputs_size", spec.get("outputs_size"), "leaves no space; set outputs_enabled to false for no outputs")
    elif least is not None and least >= size:
        reason = f"is not below outputs_size ({spec.get('outputs_size')}), so that no run would ever be submitted"
        found.add("outputs_min_free", spec.get("outputs_min_free"), reason)
