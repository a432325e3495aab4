#!/bin/bash
# pve_vm beside proxmox_kvm of community.proxmox on a lab without guests: calls, writes and wall time of the same jobs on
# ten machines, in runs that take turns. COMMUNITY names the folder that holds ansible_collections with community.proxmox,
# PYTHON_BIN the bin folder of a virtual environment with ansible-core, proxmoxer and requests.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."
# shellcheck source=tests/lab.sh
. tests/lab.sh
: "${COMMUNITY:?name the folder that holds ansible_collections/community/proxmox}" "${PYTHON_BIN:?}"

RUNS=${RUNS:-3}
LAB=$(mktemp -d)
clean() { lab down --dir "$LAB" >/dev/null; rm -rf "$LAB"; }
trap clean EXIT
lab up --state-only --delays 0 --lag 0 --dir "$LAB" --listen 127.0.0.1:0 >/dev/null
set -a
# shellcheck disable=SC1091
. "$LAB/env"
set +a
export ANSIBLE_COLLECTIONS_PATH=$PWD/collections:$COMMUNITY ANSIBLE_LOCALHOST_WARNING=false PROXMOX_VALIDATE_CERTS=false
export ANSIBLE_INVENTORY_UNPARSED_WARNING=false ANSIBLE_DEPRECATION_WARNINGS=false ROUND=0

# job MODULE JOB: "microseconds calls writes"
job() {
    local calls writes wall
    calls=$(wc -l <"$LAB/requests.jsonl") writes=$(lab_writes "$LAB")
    wall=${EPOCHREALTIME/./}
    "$PYTHON_BIN/ansible-playbook" -i localhost, -c local -e "ansible_python_interpreter=$PYTHON_BIN/python3 module=$1 job=$2" \
        benches/vm.yml >"$LAB/last" 2>&1 || { cat "$LAB/last" >&2; exit 1; }
    echo "$((${EPOCHREALTIME/./} - wall)) $(($(wc -l <"$LAB/requests.jsonl") - calls)) $(($(lab_writes "$LAB") - writes))"
}

job ours template >/dev/null
for ROUND in $(seq "$RUNS"); do
    export ROUND
    for module in ours python; do
        for kind in create unchanged setting; do
            job "$module" "$kind" >>"$LAB/$module-$kind"
            cp "$LAB/last" "$LAB/last-$module-$kind"
            ROUND=$ROUND-$module
        done
        job ours remove >/dev/null
    done
done

# the best of the runs: what else the machine does only ever adds
best() { sort -n "$LAB/$1" | head -n1; }
for kind in create unchanged setting; do
    read -r ours calls writes <<<"$(best "ours-$kind")"
    read -r python theirs their <<<"$(best "python-$kind")"
    changed=$(sed -nE 's/.* changed=([0-9]+).*/\1/p' "$LAB/last-python-$kind")
    awk -v kind="$kind" -v ours="$ours" -v python="$python" -v calls="$calls" -v theirs="$theirs" -v writes="$writes" -v their="$their" -v changed="$changed" 'BEGIN {
        printf "%-10s %.2f s / %.2f s = %.2f; calls %d / %d, writes %d / %d; proxmox_kvm says changed=%d\n",
            kind, ours / 1e6, python / 1e6, ours / python, calls, theirs, writes, their, changed }'
done
