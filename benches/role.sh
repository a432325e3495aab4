#!/bin/bash
# The base role's run without changes on a guest of the lab, beside the same role written with Python modules and
# pipelining: ratios of wall time and of the guest's CPU time, of runs that take turns. Needs what `make demo` needs.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."
# shellcheck source=tests/lab.sh
. tests/lab.sh

RUNS=${RUNS:-5}
LAB=$(mktemp -d)
export PVE_INVENTORY_CONFIG=$LAB/pve_inventory.cfg ANSIBLE_PIPELINING=true
clean() { lab_close_connections "$LAB"; lab down --dir "$LAB" >/dev/null; rm -rf "$LAB"; }
trap clean EXIT

lab up --dir "$LAB" --listen 127.0.0.1:0 >/dev/null
lab_keys "$LAB"
lab_variables "$LAB" >"$LAB/vars.yml"
play() { ansible-playbook -e "@$LAB/vars.yml" --limit web1 "$@" >"$LAB/last" 2>&1 || { cat "$LAB/last" >&2; exit 1; }; }
play playbooks/provision.yml
ansible-inventory --host web1 >"$LAB/host.json"
address=$(sed -nE 's/.*"ansible_host": "([^"]+)".*/\1/p' "$LAB/host.json")

# the guest's CPU time so far, in microseconds; the login that asks is part of it, for both alike
used() {
    ssh -q -i "$LAB/id_ed25519" -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null "debian@$address" \
        "awk '/^usage_usec/ { print \$2 }' /sys/fs/cgroup/cpu.stat"
}

# measure FILE: appends "wall cpu", in microseconds
measure() {
    local wall cpu name=$1
    shift
    cpu=$(used)
    wall=${EPOCHREALTIME/./}
    play "$@"
    wall=$((${EPOCHREALTIME/./} - wall))
    recap_is_unchanged "$LAB/last" || { cat "$LAB/last" >&2; exit 1; }
    echo "$wall $(($(used) - cpu))" >>"$LAB/$name"
}

play benches/ours.yml
play benches/python.yml
play benches/ours.yml
for _ in $(seq "$RUNS"); do
    measure ours benches/ours.yml
    measure python benches/python.yml
done

# the best of the runs: what else the machine does only ever adds
best() { sort -n -k"$2,$2" "$LAB/$1" | awk -v column="$2" 'NR == 1 { print $column }'; }
for column in 1 2; do
    ours=$(best ours "$column") python=$(best python "$column")
    name=$([[ $column == 1 ]] && echo 'wall time' || echo "guest's CPU time")
    awk -v name="$name" -v ours="$ours" -v python="$python" \
        'BEGIN { printf "%s: %.2f s with our modules, %.2f s with Python, ratio %.2f\n", name, ours / 1e6, python / 1e6, ours / python }'
done
