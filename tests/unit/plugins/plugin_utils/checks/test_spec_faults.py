# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults of specs: each names cluster, variable and value, and all come at once."""

from __future__ import annotations

import re

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.checks import certificate_rules, hub_rules, site_rules
from ansible_collections.federated.flower.plugins.plugin_utils.checks.site_rules import MAX_POOL_NAME
from ansible_collections.federated.flower.tests.unit import specs
from ansible_collections.federated.flower.tests.unit.rows import each_row
from ansible_collections.federated.flower.tests.unit.specs import superlink_faults, supernode_faults


def patched(kind, name, patch):
    return {"patches": [{"target": {"kind": kind, "name": name}, "patch": patch}]}


def mounted(path, **more):
    return {"volumes": [{"name": "v", "emptyDir": {}}], "volume_mounts": [{"name": "v", "mountPath": path}], **more}


def egress(**peer):
    return {"serverapp_egress": [peer]}


SUPERLINK = [
    ({"version": "1.34.2"}, "hub: superlink_version: '1.34.2' is of Flower's gRPC generation"),
    ({"version": "1.37.0"}, "superlink_version: '1.37.0' is in Flower's transition from gRPC to HTTP"),
    ({"version": "latest"}, "superlink_version: 'latest' is not a Flower release"),
    ({"federation": "My_Fed"}, "superlink_federation: 'My_Fed' is not a DNS-1123 label"),
    ({"federation": "f" * 64}, "has 64 characters, at most 63"),
    ({"namespace": "a.b"}, "superlink_namespace: 'a.b' is not a DNS-1123 label"),
    ({"image_registry": "https://mirror"}, "superlink_image_registry: 'https://mirror' is not a registry"),
    ({"time_zone": "Europe/Paris; id"}, "superlink_time_zone: 'Europe/Paris; id' is not the name of a time zone"),
    ({"run_as_user": 0}, "superlink_run_as_user: 0 is not between 1 and"),
    ({"labels": {"app.kubernetes.io/name": "x"}}, "replaces a label by which this collection finds its objects"),
    ({"labels": {"a": "not a value"}}, "superlink_labels[a]: 'not a value' is not a label value"),
    ({"annotations": {"bad key": "x"}}, "superlink_annotations[bad key]"),
    ({"superlink_address": "https://hub:1"}, "is a URL"),
    ({"superlink_address": "hub"}, "hub: superlink_address: 'hub' is not \"host:port\""),
    ({"superlink_address": "hub:\u0669\u0660"}, 'is not "host:port"'),
    ({"renew_before": "\u0663d"}, "is not a duration like 30d"),
    ({"version": "1.4\u0661.0"}, "is not a Flower release"),
    ({"superlink_address": "hub:70000"}, 'is not "host:port"'),
    ({"superlink_address": "2001:db8::1:9092"}, 'is not "host:port"'),
    ({"ca_bundle": "x"}, "superlink_ca_bundle: 'x' is not a PEM certificate"),
    ({"ca_bundle": "-----BEGIN CERTIFICATE-----ü"}, "is not a PEM certificate"),
    ({"ca_bundle": "-----BEGIN CERTIFICATE-----\nMIIB\n"}, "it needs complete blocks"),
    ({"ca_bundle": "-----BEGIN CERTIFICATE-----\n...\n-----END CERTIFICATE-----\n"}, "it needs complete blocks"),
    ({"ca_bundle": "-----BEGIN CERTIFICATE-----\n-----BEGIN PRIVATE KEY-----"}, "contains a private key"),
    ({"certificates_source": "existing", "insecure": True}, "has nothing to serve: insecure is true"),
    ({"certificates_source": "cert_manager"}, "superlink_issuer: {} has no name"),
    ({"certificates_source": "cert_manager", "issuer": {"name": "A_b"}}, "superlink_issuer.name: 'A_b'"),
    ({"issuer": {"name": "a"}}, "superlink_issuer: {'name': 'a'} has no effect with certificates_source builtin"),
    ({"certificate_secret": "a"}, "superlink_certificate_secret: 'a' has no effect with certificates_source builtin"),
    (
        {"certificates_source": "existing", "certificate_secret": "A B"},
        "superlink_certificate_secret: 'A B' is not a DNS name",
    ),
    ({"certificate_days": 0}, "superlink_certificate_days: 0 is not between 1 and"),
    ({"renew_before": "soon"}, "superlink_renew_before: 'soon' is not a duration like 30d"),
    ({"renew_before": "91d"}, "superlink_renew_before: '91d' is not between 0 and the 90 days"),
    ({"renew_before": "0s"}, "superlink_renew_before: '0s' is not between"),
    ({"renew_before": "999999999d"}, "superlink_renew_before: '999999999d'"),
    (
        {"certificates_source": "cert_manager", "issuer": {"name": "a"}, "renew_before": "40s"},
        "superlink_renew_before: '40s' is less than the 5 minutes that cert-manager needs",
    ),
    ({"exposure": "ingress"}, "superlink_host: '' is empty"),
    ({"exposure": "route", "insecure": True}, "passes TLS through, but there is none"),
    ({"exposure": "cluster_ip", "node_port": 30000}, "has no effect with exposure cluster_ip"),
    ({"port": 0}, "superlink_port: 0 is not between 1 and 65535"),
    ({"port": True}, "superlink_port: True is not an integer"),
    ({"load_balancer_source_ranges": ["10.0.0.1/8"]}, "is not a network"),
    ({"client_certificate_days": 10**9}, "superlink_client_certificate_days: 1000000000 is not between"),
    ({"wait_timeout": 10**12}, "superlink_wait_timeout: 1000000000000 is not between"),
    ({"run_as_user": "0777"}, "superlink_run_as_user: '0777' begins with 0"),
    ({"fs_group": "-01"}, "superlink_fs_group: '-01' begins with 0"),
    ({"outputs_size": "1e9999999"}, "superlink_outputs_size: '1e9999999' is beyond what Kubernetes can count"),
    ({"outputs_min_free": "1e-9999999"}, "superlink_outputs_min_free: '1e-9999999' is beyond"),
    ({"outputs_size": "9223372036854775808"}, "superlink_outputs_size: '9223372036854775808' is beyond"),
    ({"storage_size": "9Ei"}, "superlink_storage_size: '9Ei' is beyond"),
    ({"storage_size": "0Gi"}, "superlink_storage_size: '0Gi' leaves no space"),
    ({"gateway_image": "haproxy:"}, "superlink_gateway_image: 'haproxy:' is not a reference"),
    ({"image_registry": "/mirror"}, "superlink_image_registry: '/mirror' is not a registry"),
    ({"annotations": {"a": "x" * 300000}}, "superlink_annotations: an entry with the keys a has 300001 bytes"),
    ({"superlink_address": "user:SECRET@host:1"}, "superlink_address: a value of the type str (not shown) contains credentials"),
    ({"storage_size": None}, "superlink_storage_size: None is not a quantity"),
    ({"resources": {"requests": {"cpu": "-1"}}}, "superlink_resources.requests[cpu]: '-1' is not a quantity"),
    ({"resources": {"cpu": 1}}, "superlink_resources.cpu: 1 is neither requests nor limits"),
    ({"env": [{"value": "x"}]}, "has no name"),
    ({"env": [{"name": "A"}]}, "has neither value nor valueFrom"),
    ({"env": [{"name": "A", "value": "1", "valueFrom": {}}]}, "has both value and valueFrom"),
    ({"env": [{"name": "A", "value": 1}, {"name": "A", "value": 2}]}, "superlink_env[1].name: 'A' is listed twice"),
    ({"volume_mounts": [{"name": "x", "mountPath": "/x"}]}, "is not one of the volumes in superlink_volumes"),
    ({"volumes": [{"name": "data", "emptyDir": {}}]}, "superlink_volumes[0].name: 'data' exists already"),
    (mounted("/data/"), "superlink_volume_mounts[0].mountPath: '/data/' is mounted already"),
    (mounted("//data/../data/."), "superlink_volume_mounts[0].mountPath: '//data/../data/.' is mounted already"),
    (mounted("data"), "superlink_volume_mounts[0].mountPath: 'data' is mounted already"),
    (mounted("/a/.."), "superlink_volume_mounts[0].mountPath: '/a/..' is not a path"),
    ({"insecure": True}, "superlink_client_certificates: 'required' has no effect without TLS"),
    ({"gateway_denied_sources": ["x"]}, "superlink_gateway_denied_sources[0]: 'x' is not a network"),
    ({"allowed_sources": [{"cidr": "10.0.0.1/8"}]}, "superlink_allowed_sources[0].cidr: '10.0.0.1/8' is not a network"),
    (egress(ports=["443"]), "superlink_serverapp_egress[0]: {'ports': ['443']} selects nothing"),
    (egress(namespace="Data"), "superlink_serverapp_egress[0].namespace: 'Data' is not a DNS-1123 label"),
    (egress(cidr="::/0", ports=["443/tcp"]), "superlink_serverapp_egress[0].ports[0]: '443/tcp'"),
    (egress(cidr="::/0", ports=["70000"]), "'70000' is not a port or port range between 1 and"),
    (egress(cidr="::/0", namespace="x"), "has a cidr and selectors; use two separate entries"),
    (egress(namespace="x", **{"except": ["::/0"]}), "[0].except: ['::/0'] has no effect without cidr"),
    (egress(cidr="10.0.0.0/8", **{"except": ["x"]}), "[0].except[0]: 'x' is not a network"),
    (egress(cidr="10.0.0.0/8", **{"except": ["10.0.0.0/8"]}), "'10.0.0.0/8' is not part of 10.0.0.0/8"),
    (egress(cidr="10.0.0.0/8", **{"except": ["::1"]}), "'::1' is not part of 10.0.0.0/8"),
    (egress(pod_selector={"a": "b c"}), "superlink_serverapp_egress[0].pod_selector[a]: 'b c' is not a label"),
    ({"monitoring_namespaces": ["my ns"]}, "superlink_monitoring_namespaces[0]: 'my ns' is not a DNS-1123 label"),
    ({"monitoring_namespaces": [{}]}, "superlink_monitoring_namespaces[0]: {} is empty"),
    ({"isolation": "subprocess", "serverapp_gpu": {"count": 1}}, "applies to no pod"),
    ({"isolation": "subprocess", "serverapp_image": "r/app:1"}, "superlink_serverapp_image: 'r/app:1' has no effect: with subprocess isolation"),
    ({"serverapp_gpu": {"resource": "gpu"}}, "is not an extended resource"),
    (
        {"serverapp_gpu": {"count": 1}, "serverapp_resources": {"limits": {"nvidia.com/gpu": 1}}},
        "is among the limits of the container, too",
    ),
    ({"insecure": True, "server_name": "x.example"}, "is a name in a certificate, but there is none"),
    (patched("Deployment", "superlink", {}), "superlink_patches[0] has target Deployment/superlink, which is not one of: ConfigMap/"),
    (patched("Service", "superlink", [{"op": "remove", "path": "/no"}]), "superlink_patches[0] (Service/superlink): remove: there is no /no"),
    (patched("Service", "superlink", {"metadata": {"name": "x"}}), "changes apiVersion, kind, name or namespace"),
]


def pools(*entries):
    return {"pools": list(entries)}


def gpu(**given):
    return pools({"name": "a", "gpu": given})


def together(**pool):
    """A pool whose ClientApps run in the SuperNode."""
    return pools({"name": "a", "isolation": "subprocess", **pool})


def proxied(credentials=None, **proxy):
    given = {} if credentials is None else {"http_proxy_credentials": credentials}
    return {"http_proxy": {"address": "proxy:3128", **proxy}, **given}


SUPERNODE = [
    (pools(), "site-a: supernode_pools: [] is empty"),
    (pools({"name": "GPU"}), "supernode_pools[0].name: 'GPU' is not a DNS-1123 label"),
    (pools({"name": "p" * (MAX_POOL_NAME + 1)}), f"at most {MAX_POOL_NAME} are possible"),
    (pools({"name": "a"}, {"name": "b"}, {"name": "a"}), "supernode_pools[2].name: 'a' is the name of pools[0], too"),
    (pools({"name": "a", "replicas": -1}), "supernode_pools[0].replicas: -1 is not between 0 and 1000"),
    (pools({"name": "a", "replicas": 1.5}), "supernode_pools[0].replicas: 1.5 is not an integer"),
    (pools({"name": "a", "mode": "DaemonSet", "replicas": 1}), "has no effect on a DaemonSet"),
    (pools({"name": "a", "node_config": {"x": "{indx}"}}), "{indx}"),
    (pools({"name": "a", "node_config": {"x": "{region}"}}), "region"),
    (pools({"name": "a", "node_config": {"x": "{index}", "y": "{partition}"}}), "site-a"),
    (
        {**pools({"name": "a", "mode": "DaemonSet", "node_config": {"x": "{partitions}"}}), "allocation": {"a": {"offset": 0, "partitions": 16}}},
        "{partitions} is not for a DaemonSet, whose pods have no number",
    ),
    (pools({"name": "a", "env": [{"name": "FLOWER_INDEX", "value": "1"}]}), "is set by this collection"),
    (gpu(mount_all=True), "supernode_pools[0].gpu.mount_all: True needs a runtime_class"),
    (gpu(mount_all=True, runtime_class="nvidia", count=2), "supernode_pools[0].gpu.count: 2 has no effect with mount_all"),
    (gpu(mount_all=True, runtime_class="nvidia", resource="amd.com/gpu"), "supernode_pools[0].gpu.resource: 'amd.com/gpu' has no effect with mount_all"),
    (gpu(visible_devices="0"), "supernode_pools[0].gpu.visible_devices: '0' has no effect without mount_all"),
    (gpu(mount_all=True, runtime_class="nvidia", visible_devices="0; rm"), "supernode_pools[0].gpu.visible_devices: '0; rm' must be"),
    (pools({"name": "a", "shm_size": "big"}), "supernode_pools[0].shm_size: 'big' is not a quantity"),
    (
        together(superexec_image="r/app:1"),
        "supernode_pools[0].superexec_image: 'r/app:1' has no effect on pool a: with subprocess isolation ClientApps run in the SuperNode's",
    ),
    ({"image": "r/node:1", **together(superexec_image="r/app:1")}, "supernode_pools[0].superexec_image: 'r/app:1' has no effect on pool a"),
    (
        {"superexec_image": "r/app:1", **pools({"name": "a"}, {"name": "b", "mode": "DaemonSet", "isolation": "subprocess"})},
        "supernode_superexec_image: 'r/app:1' has no effect on pool b",
    ),
    (
        together(superexec_resources={"limits": {"cpu": 2}}),
        "supernode_pools[0].superexec_resources: {'limits': {'cpu': 2}} has no effect: with subprocess isolation there is no SuperExec; use resources",
    ),
    (together(superexec_extra_args=["--max-retries=1"]), "there is no SuperExec; use extra_args"),
    ({"termination_grace_period": 1}, "supernode_termination_grace_period: 1 is not between 10 and 3600"),
    ({"sidecar": False}, "site-a: supernode_mtls: True needs the sidecar"),
    ({"insecure": True}, "site-a: supernode_mtls: True has no effect without TLS"),
    ({"cluster": "site-a" + "x" * 60}, "the name of this host has 66 characters; it names and labels objects"),
    ({"cluster": "site-a_1"}, "'site-a_1': the name of this host cannot be part of the names of Kubernetes objects"),
    ({"cluster": "site-a", "region": "eu", "pools": [{"name": "a", "replicas": "1_0"}]}, "'1_0' is not an integer"),
    (pools({"name": "a", "replicas": "\u0663"}), "supernode_pools[0].replicas: '\u0663' is not an integer"),
    (pools({"name": "a", "replicas": "9" * 5000}), "supernode_pools[0].replicas: '999"),
    (
        pools({"name": "a", "replicas": 600}, {"name": "b", "replicas": 600}),
        "supernode_pools: the pools have 1200 replicas together; a site has at most 1000 SuperNodes",
    ),
    ({"disruption_budget": 2**31}, "supernode_disruption_budget: 2147483648 is above 2147483647"),
    ({"env": [{"name": "A", "value": "x" * 2**20}]}, "has 1048578 bytes with its name; the limit of Linux is 131071"),
    (
        {"env": [{"name": "A", "value": "a\0b"}]},
        "supernode_env[0].value: a value of the type str (not shown) contains a NUL",
    ),
    ({"extra_args": ["x" * 2**20]}, "supernode_extra_args[0]: a value of the type str (not shown) has 1048576 bytes"),
    ({"superlink_cidrs": ["hub.example.com"]}, "supernode_superlink_cidrs[0]: 'hub.example.com' is not a network"),
    ({"egress": [{"cidr": "store"}]}, "supernode_egress[0].cidr: 'store' is not a network"),
    ({"partitions": -3}, "supernode_partitions: -3 is below 0"),
    ({"resources": {"requests": {"memory": "1e999999999"}}}, "supernode_resources.requests[memory]: '1e999999999' is beyond"),
    (pools({"name": "a", "image": "acme/supernode:1.41.0 "}), "supernode_pools[0].image: 'acme/supernode:1.41.0 ' is not a reference"),
    ({"extra_containers": [{"name": "a", "image": "Acme/Proxy"}]}, "supernode_extra_containers[0].image: 'Acme/Proxy' is not a reference"),
    (mounted("/data//./ct/", datasets=[{"name": "ct", "claim": "ct"}]), "supernode_volume_mounts: '/data//./ct/' overlaps"),
    ({"http_proxy": {"secret": "a"}}, "supernode_http_proxy.address: None is not set"),
    ({"http_proxy_credentials": {"username": "u", "password": "p"}}, "supernode_http_proxy.address: None is not set"),
    ({"http_proxy": {"address": "http://proxy:3128"}}, "is a URL; set \"host:port\""),
    ({"http_proxy": {"address": "https://proxy:3128"}}, "The connection to the proxy itself has no TLS here"),
    ({"http_proxy": {"address": "u:secret@proxy:3128"}}, "(not shown) contains credentials"),
    ({"http_proxy": {"address": "proxy"}}, "supernode_http_proxy.address: 'proxy' is not \"host:port\""),
    (proxied(cidrs=["x"]), "supernode_http_proxy.cidrs[0]: 'x' is not a network"),
    (proxied(username_key="x"), "has no effect without http_proxy.secret"),
    (
        {**proxied(), **pools({"name": "a", "extra_containers": [{"name": "tunnel", "image": "t:1"}]})},
        "supernode_pools[0].extra_containers[0].name: 'tunnel' is the container that goes through the HTTP proxy",
    ),
    (mounted("/dev/shm", **pools({"name": "a", "shm_size": "1Gi"})), "supernode_pools[0].volume_mounts[0].mountPath: '/dev/shm' is mounted already"),
    (proxied(secret="A_B"), "supernode_http_proxy.secret: 'A_B' is not a DNS name"),
    (proxied(secret="a", username_key="../user"), "supernode_http_proxy.username_key: '../user' is not the name of an entry of a Secret"),
    (proxied(secret="a", password_key=".."), "supernode_http_proxy.password_key: '..' is not the name"),
    (proxied(secret="a", username_key="x", password_key="x"), "supernode_http_proxy.password_key: 'x' is the entry of the user name as well"),
    ({**proxied(), "insecure": True, "mtls": False}, "needs TLS: flower_insecure is true"),
    ({**proxied(), "sidecar": False, "mtls": False}, "needs the sidecar, which goes through the proxy"),
    ({**proxied(), "connectivity": "skupper", "superlink_address": "flower-superlink:9092"}, "skupper_link_proxy_secret is the proxy of its link"),
    ({**proxied(), "superlink_cidrs": ["192.0.2.0/24"]}, "SuperNodes call the HTTP proxy; use http_proxy.cidrs"),
    (
        proxied({"username": "u", "password": "p"}, secret="a"),
        "supernode_http_proxy.secret: 'a' is set, and supernode_http_proxy_credentials as well",
    ),
    (proxied({"user": "u", "password": "p"}), "['password', 'user'] must have username and password"),
    (proxied("u:secret"), "(not shown) is not a mapping"),
    (
        proxied({"username": "a:b", "password": "p"}),
        "supernode_http_proxy_credentials.username: a value of the type str (not shown) has a colon",
    ),
    (
        proxied({"username": "u", "password": "p\n"}),
        "supernode_http_proxy_credentials.password: a value of the type str (not shown) is empty or has characters",
    ),
    ({**proxied({"username": "u", "password": "p"}), "key_source": "site"}, "cannot reach the site: with flower_key_source site"),
    ({"volumes": [{"name": "http-proxy", "emptyDir": {}}]}, "http-proxy"),
    (patched("StatefulSet", "supernode-x", {}), "supernode_patches[0] has target StatefulSet/supernode-x, which is not one of"),
]


@each_row(
    "image",
    [
        "acme/supernode:1.41.0", "images.example.com:5000/fl/supernode:1.41.0-torch2.8", "IMAGES.example.com/fl/supernode:1", "a",
        "acme/supernode@sha256:" + "0123456789abcdef" * 4, "acme/supernode:1.41.0@sha256:" + "0123456789abcdef" * 4, "localhost/a__b/c-d.e:T_1",
        "[2001:db8::1]:5000/fl/supernode", "a" * 255, "a:" + "t" * 128,
    ],
)  # fmt: skip
def test_references_of_images(image, supernode_spec):
    assert supernode_faults(supernode_spec(image=image)) == []


@each_row(
    "image",
    [
        "/images.example.com/fl/supernode:1.41.0", "images.example.com/Team/supernode:latest", "acme/supernode:1.41.0 ", "acme/supernode:",
        "https://images.example.com/fl/supernode:1", "acme/supernode@sha256:abc", "acme/super node:1", "acme//supernode", "acme/supernode/",
        "acme/supernode:1\n", "acme/supernode:-1", "acme/supernode@md5:" + "0" * 32, "acme/supernode@sha256:" + "A" * 64, "sup\u00e9rnode:1",
        "0123456789abcdef" * 4, "acme/supernode:1:2", "a:" + "t" * 129, "a" * 256, 1.41, True,
    ],
)  # fmt: skip
def test_what_a_kubelet_answers_with_invalid_image_name(image, supernode_spec):
    (fault,) = supernode_faults(supernode_spec(image=image))
    assert fault.startswith("site-a: supernode_image: ") and "is not a reference of an image" in fault


def test_defaults_have_no_faults(superlink_spec, supernode_spec):
    assert superlink_faults(superlink_spec()) == []
    assert superlink_faults(superlink_spec(superlink_address="", ca_bundle="")) == []
    assert supernode_faults(supernode_spec()) == []
    assert supernode_faults(supernode_spec(superlink_address="", ca_bundle="", allocation={})) == []


@each_row(
    "changes",
    [
        {"http_proxy": {"address": "proxy.example.com:3128"}},
        {"http_proxy": {"address": "[2001:db8::3]:3128", "secret": "a", "username_key": "user", "password_key": "pw"}},
        {"http_proxy": {"address": "192.0.2.3:80", "cidrs": ["192.0.2.3"]}, "http_proxy_credentials": {"username": "u", "password": "p:q"}},
    ],
)
def test_http_proxies_without_faults(changes, supernode_spec):
    assert supernode_faults(supernode_spec(**changes)) == []


def test_no_fault_shows_a_password(supernode_spec):
    secret = "hunter2"
    for proxy, credentials in (
        ({"address": f"u:{secret}@proxy:3128"}, {}),
        ({"address": f"http://u:{secret}@proxy:3128", "password": secret}, {}),
        ({"address": "proxy:3128", "secret": "a"}, {"username": f"{secret}:", "password": secret}),
        ({"address": "proxy:3128"}, {"username": "u", "password": f"{secret}\n"}),
        ({}, {"username": secret, "password": secret}),
        ({"address": "proxy:3128"}, [secret]),
    ):
        for more in ({}, {"insecure": True}, {"sidecar": False}, {"key_source": "site"}, {"connectivity": "skupper"}):
            found = supernode_faults(supernode_spec(http_proxy=proxy, http_proxy_credentials=credentials, **more))
            assert found and secret not in "".join(found), found


def test_peers_without_faults(superlink_spec, supernode_spec):
    peers = [
        {"cidr": "10.0.0.0/8", "except": ["10.1.0.0/16"], "namespace": None, "pod_selector": None, "ports": ["1-2/UDP"]},
        {"namespace": {"kubernetes.io/metadata.name": "data"}, "pod_selector": {"app.kubernetes.io/name": "minio"}},
        {"namespace": "data", "ports": [443]},
    ]
    changes = {"dns": peers, "monitoring_namespaces": ["monitoring", {"network.openshift.io/policy-group": "monitoring"}]}
    assert superlink_faults(superlink_spec(**changes, serverapp_egress=peers, allowed_sources=[{"cidr": "::1"}])) == []
    assert supernode_faults(supernode_spec(**changes, egress=peers, superlink_cidrs=["192.0.2.0/24", "::1"])) == []


@each_row(("changes", "sentence"), SUPERLINK)
def test_superlink(changes, sentence, superlink_spec):
    faults = superlink_faults(superlink_spec(**changes))
    assert any(sentence in fault for fault in faults), faults
    assert all(fault.startswith("hub: ") for fault in faults)


@each_row(("location", "good"), [
    ("52.52,13.40", True), ("-33.9,+18", True), ("90,-180", True), ("", True),
    ("91,0", False), ("0,181", False), ("52.52", False), ("52.52, 13.40", False), ("eu,west", False), ("nan,0", False), ("1,2,3", False), ("--name=x,1", False),
])  # fmt: skip
def test_a_location_is_a_latitude_and_a_longitude(location, good, supernode_spec):
    faults = supernode_faults(supernode_spec(location=location))
    assert faults == [] if good else "supernode_location: " in faults[0] and "is not a latitude and a longitude" in faults[0]


@each_row(("changes", "sentence"), SUPERNODE)
def test_supernode(changes, sentence, supernode_spec):
    faults = supernode_faults(supernode_spec(**changes))
    assert any(sentence in fault for fault in faults), faults
    assert all("site-a" in fault for fault in faults)


@each_row(
    "changes",
    [
        {"env": [{"nam": "A", "value": "s3cr3t"}]},
        {"env": [{"name": "A", "vlaue": "s3cr3t"}]},
        {"env": [{"name": "A", "value": "", "valeu": "s3cr3t"}]},
        {"env": [{"name": "A", "value": ["s3cr3t"]}]},
        {"env": [{"name": "A", "value": "s3cr3t", "valueFrom": {}}]},
        {"env": ["A=s3cr3t"]},
        {"env": {"A": "s3cr3t"}},
        {"env": "A=s3cr3t"},
        {"extra_args": ["--insecure=s3cr3t"]},
        {"extra_args": [{"--token": "s3cr3t"}]},
        {"extra_args": "--token=s3cr3t"},
        {"volumes": [{"csi": {"volumeAttributes": {"password": "s3cr3t"}}}]},
        {"patches": [{"patch": {"password": "s3cr3t"}}]},
        {"patches": [{"target": {"kind": "Service", "name": "a"}, "patch": "s3cr3t"}]},
    ],
)
@each_row("role", ["superlink", "supernode"])
def test_what_may_hold_a_credential_is_not_shown(changes, role, superlink_spec, supernode_spec):
    spec = {"superlink": superlink_spec, "supernode": supernode_spec}[role](**changes)
    faults = {"superlink": superlink_faults, "supernode": supernode_faults}[role](spec)
    assert faults
    assert all(next(iter(changes)) in fault for fault in faults), faults
    assert "s3cr3t" not in "".join(faults)


@pytest.mark.parametrize(
    ("role", "table"), [("superlink", {**hub_rules._HUB, **hub_rules._OUTPUTS, **certificate_rules.CERTIFICATES}), ("supernode", site_rules._SITE)]
)
def test_each_variable_with_a_form_has_its_check(role, table):
    """One that is added to a role gets a row."""
    forms = re.compile(r".*(days|timeout|resources|connections|labels|annotations|env|image|containers|cidrs|egress|sources|priority_class|port)")
    wanted = {name for name, one in specs.role_options(role).items() if forms.fullmatch(name) and one.get("type") != "bool"}
    assert wanted - {f"{role}_{key}" for key in table} == set()


@each_row("name", ["Site-A", "site_a", "site a", "-a", "a-", "a..b", "ä", "", "s" * 64])
def test_names_of_sites_that_kubernetes_refuses(name, supernode_spec):
    (fault,) = supernode_faults(supernode_spec(cluster=name))
    assert "the name of this host" in fault


@each_row("name", ["a", "site-1.example.org", "1", "s" * 63])
def test_names_of_sites(name, supernode_spec):
    assert supernode_faults(supernode_spec(cluster=name)) == []


def test_all_faults_at_once(superlink_spec):
    assert len(superlink_faults(superlink_spec(version="1", port=0, storage_size="x", namespace="X"))) == 4
    with pytest.raises(ClusterError) as caught:
        specs.superlink_objects(superlink_spec(version="1", port=0))
    assert len(str(caught.value).splitlines()) == 2


def test_rendering_needs_address_ca_and_allocation(supernode_spec):
    with pytest.raises(ClusterError) as caught:
        specs.supernode_objects(
            supernode_spec(superlink_address="", ca_bundle="", client_certificate="", allocation={})
        )
    assert [fault.split(":")[1].strip() for fault in str(caught.value).splitlines()] == [
        "supernode_superlink_address",
        "supernode_ca_bundle",
        "supernode_mtls",
        "supernode_pools[0].name",
    ]


def test_longest_pool_name_fits_every_label(supernode_spec):
    name = "p" * MAX_POOL_NAME
    assert len(f"supernode-{name}-{'9' * 10}") <= 63  # pod name and revision label
    spec = supernode_spec(pools=[{"name": name}])
    for obj in specs.supernode_objects(spec):
        assert all(len(value) <= 63 for value in obj["metadata"]["labels"].values())
        assert len(obj["metadata"]["name"]) <= 63


@each_row("version", ["1.40.0", "1.41.0", "1.42.0.dev20261121", "2.0.0"])
def test_http_generation(version, superlink_spec):
    assert superlink_faults(superlink_spec(version=version)) == []


def test_numbers_and_switches_as_text_and_null_as_empty_text(superlink_spec):
    """Ansible before 2.19 hands templated values over like this."""
    as_text = superlink_spec(port="9092", node_port="", run_as_user="49999", fs_group="", insecure="False")
    typed = superlink_spec(port=9092, node_port=None, run_as_user=49999, fs_group=None, insecure=False)
    assert specs.superlink_objects(as_text) == specs.superlink_objects(typed)


def test_patches_may_be_for_what_is_made_once_the_address_is_known(superlink_spec):
    """The variables are checked before the hub has an address."""
    for kind, name in (("Certificate", "superlink-gateway"), ("ConfigMap", "flower-federation")):
        patch = patched(kind, name, {"metadata": {"annotations": {"a": "b"}}})
        spec = superlink_spec(superlink_address="", ca_bundle="", certificates_source="cert_manager", issuer={"name": "x"}, **patch)
        assert superlink_faults(spec) == []


@each_row(
    "changes",
    [
        {"superexec_image": "r/app:1", "image": "r/node:1", "isolation": "subprocess"},  # that of the whole fleet, and one for these SuperNodes
        {"superexec_image": "r/app:1", **together(image="r/app:1")},
        {"superexec_image": "r/app:1", **together(superexec_image="")},
        together(superexec_image="r/app:1", image="r/app:1"),
    ],
)
def test_an_image_of_the_app_beside_one_for_the_supernode(changes, supernode_spec):
    assert supernode_faults(supernode_spec(**changes)) == []
