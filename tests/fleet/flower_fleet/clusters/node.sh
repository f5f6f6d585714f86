#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
# First program in a cluster's namespaces: node.sh STATE_DIRECTORY SEED_SNAPSHOTS PYTHON
# Gives the node its own view of the file system, then becomes the supervisor. Every mount ends with the namespace.
set -eu
state=$1 seed=$2 python=$3
here=$(cd "$(dirname "$0")" && pwd)

hostname "$(basename "$state")"
mount --make-rprivate /
mkdir -p "$state/kubelet" "$state/containerd" "$state/etcd" "$state/cni-state" "$state/volumes" \
    "$state/log/pods" "$state/log/containers" "$state/tmp"

# /proc of this process namespace; /sys of this network namespace, with the machine's control groups
mount -t proc proc /proc
mount --rbind /sys/fs/cgroup "$state/tmp"
# what stays mounted below is found first by programs that read the list of mounts
umount -l -R /sys
mount -t sysfs sysfs /sys
# (only the cluster's part of them, so that everything its pods leave there is known)
part=flower-fleet/$(basename "$state")
if [ -e "$state/tmp/cgroup.controllers" ]; then
    mount --bind "$state/tmp/$part" /sys/fs/cgroup
else
    mount -t tmpfs -o mode=755 tmpfs /sys/fs/cgroup
    for hierarchy in "$state/tmp"/*; do
        own=/sys/fs/cgroup/${hierarchy##*/}
        if [ -L "$hierarchy" ]; then
            ln -s "$(readlink "$hierarchy")" "$own"
        elif [ -d "$hierarchy/$part" ]; then
            mkdir "$own"
            mount --bind "$hierarchy/$part" "$own"
        fi
    done
fi
umount -l "$state/tmp"

# own /run; the names of other network namespaces must not be held by this mount namespace
target=$(readlink -m /etc/resolv.conf)
umount -l /run/netns 2>/dev/null || true
mount -t tmpfs -o mode=755 tmpfs /run
mkdir -p /run/lock /run/containerd
case $target in
/run/*) mkdir -p "$(dirname "$target")" && : >"$target" ;;
esac
if [ -e "$target" ]; then mount --bind "$state/resolv.conf" "$target"; fi
mount --bind "$state/hosts" /etc/hosts

mount -t tmpfs -o size=1g tmpfs "$state/etcd"
mount --bind "$state/kubelet" /var/lib/kubelet
mount --bind "$state/cni-state" /var/lib/cni
mount --bind "$state/log/pods" /var/log/pods
mount --bind "$state/log/containers" /var/log/containers

# unpacked image layers come from the shared seed store
layers=$state/containerd/io.containerd.snapshotter.v1.overlayfs/snapshots
for layer in "$seed"/*; do
    mount --bind -o ro "$layer" "$layers/${layer##*/}"
done

# machine-wide values that kubelet would change otherwise
for file in "$state"/fake/*; do
    name=${file##*/}
    case $name in
    kernel_keys_*) name=kernel/keys/${name#kernel_keys_} ;;
    *) name=${name%%_*}/${name#*_} ;;
    esac
    if [ -e "/proc/sys/$name" ]; then mount --bind "$file" "/proc/sys/$name"; fi
done

mount --make-rshared /
ip link set lo up
sysctl -qw net.ipv4.ip_forward=1 net.bridge.bridge-nf-call-iptables=1 net.ipv4.conf.all.route_localnet=1
exec "$python" "$here/supervisor.py" "$state/processes.json" "$state/log"
