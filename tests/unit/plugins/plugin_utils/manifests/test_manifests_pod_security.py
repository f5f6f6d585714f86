# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every pod that is rendered passes the Pod Security Standard "restricted".

The controls are those of kubernetes.io/docs/concepts/security/pod-security-standards (restricted holds baseline), with
the values of Kubernetes 1.34 (k8s.io/pod-security-admission). On the fleet the API server itself refuses what fails.
"""

from __future__ import annotations

from typing import Any, Callable

Pod = dict[str, Any]

VOLUMES = {
    "configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "image", "persistentVolumeClaim", "projected", "secret",
}  # fmt: skip
SYSCTLS = {
    "kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.tcp_syncookies", "net.ipv4.ping_group_range",
    "net.ipv4.ip_unprivileged_port_start", "net.ipv4.ip_local_reserved_ports", "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_fin_timeout", "net.ipv4.tcp_keepalive_intvl", "net.ipv4.tcp_keepalive_probes", "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_wmem",
}  # fmt: skip
SELINUX_TYPES = {None, "", "container_t", "container_init_t", "container_kvm_t", "container_engine_t"}
CONFINED = ("RuntimeDefault", "Localhost")
HOOKS = ("livenessProbe", "readinessProbe", "startupProbe")


def containers(pod: Pod) -> list[Pod]:
    """All containers of a pod's spec."""
    kinds = ("initContainers", "containers", "ephemeralContainers")
    return [container for kind in kinds for container in pod["spec"].get(kind) or []]


def contexts(pod: Pod) -> list[dict[str, Any]]:
    """Security contexts of the containers, as they are written down."""
    return [container.get("securityContext") or {} for container in containers(pod)]


def all_contexts(pod: Pod) -> list[dict[str, Any]]:
    """Security contexts of the pod and of its containers."""
    return [pod["spec"].get("securityContext") or {}, *contexts(pod)]


def effective(pod: Pod, field: str) -> list[Any]:
    """A field of each container, the pod's where the container does not say."""
    whole = (pod["spec"].get("securityContext") or {}).get(field)
    return [context.get(field, whole) for context in contexts(pod)]


def handlers(container: Pod) -> list[dict[str, Any]]:
    """Probes and lifecycle hooks of a container."""
    hooks = [container.get(hook) or {} for hook in HOOKS]
    return hooks + [hook or {} for hook in (container.get("lifecycle") or {}).values()]


# Name of the control -> whether a pod keeps it.
CONTROLS: dict[str, Callable[[Pod], bool]] = {
    # baseline
    "HostProcess": lambda pod: not any((c.get("windowsOptions") or {}).get("hostProcess") for c in all_contexts(pod)),
    "Host Namespaces": lambda pod: not any(pod["spec"].get(key) for key in ("hostNetwork", "hostPID", "hostIPC")),
    "Privileged Containers": lambda pod: not any(c.get("privileged") for c in contexts(pod)),
    "HostPath Volumes": lambda pod: not any("hostPath" in volume for volume in pod["spec"].get("volumes") or []),
    "Host Ports": lambda pod: not any(port.get("hostPort") for c in containers(pod) for port in c.get("ports") or []),
    "Host Probes / Lifecycle Hooks": lambda pod: (
        not any(
            (hook.get(kind) or {}).get("host")
            for container in containers(pod)
            for hook in handlers(container)
            for kind in ("httpGet", "tcpSocket")
        )
    ),
    "AppArmor": lambda pod: (
        all((c.get("appArmorProfile") or {"type": "RuntimeDefault"})["type"] in CONFINED for c in all_contexts(pod))
        and all(
            value in ("", "runtime/default") or value.startswith("localhost/")
            for key, value in (pod["metadata"].get("annotations") or {}).items()
            if key.startswith("container.apparmor.security.beta.kubernetes.io/")
        )
    ),
    "SELinux": lambda pod: all(
        options.get("type") in SELINUX_TYPES and not options.get("user") and not options.get("role")
        for options in ((c.get("seLinuxOptions") or {}) for c in all_contexts(pod))
    ),
    "/proc Mount Type": lambda pod: all(c.get("procMount") in (None, "Default") for c in contexts(pod)),
    "Sysctls": lambda pod: all(one["name"] in SYSCTLS for one in all_contexts(pod)[0].get("sysctls") or []),
    # restricted
    "Volume Types": lambda pod: all(set(v) - {"name"} <= VOLUMES for v in pod["spec"].get("volumes") or []),
    "Privilege Escalation": lambda pod: all(c.get("allowPrivilegeEscalation") is False for c in contexts(pod)),
    "Running as Non-root": lambda pod: all(value is True for value in effective(pod, "runAsNonRoot")),
    "Running as Non-root user": lambda pod: all(c.get("runAsUser") != 0 for c in all_contexts(pod)),
    # Baseline refuses Unconfined, too; this one is the stricter.
    "Seccomp": lambda pod: all((value or {}).get("type") in CONFINED for value in effective(pod, "seccompProfile")),
    # Baseline has a list of what may be added; this one is the stricter.
    "Capabilities": lambda pod: all(
        "ALL" in ((c.get("capabilities") or {}).get("drop") or [])
        and set((c.get("capabilities") or {}).get("add") or []) <= {"NET_BIND_SERVICE"}
        for c in contexts(pod)
    ),
}


def violations(pod: Pod) -> list[str]:
    """The controls of "restricted" that a pod (metadata and spec) does not keep."""
    return [name for name, keeps in CONTROLS.items() if not keeps(pod)]


def templates(objects):
    """Name -> pod template of all workloads."""
    specs = [(o["metadata"]["name"], o["spec"].get("jobTemplate", o)["spec"]) for o in objects if "spec" in o]
    return {name: spec["template"] for name, spec in specs if "template" in spec}


def check(objects):
    found = templates(objects)
    assert found
    for name, pod in found.items():
        assert violations(pod) == [], name
        # What the standard does not ask for, but the collection promises.
        assert pod["spec"]["automountServiceAccountToken"] is False
        assert all(context["readOnlyRootFilesystem"] is True for context in contexts(pod))


def test_every_golden_variant(goldens):
    for objects in goldens.values():
        check(objects)
