# Sourced by tests/demo and tests/e2e: the lab, and what Ansible has to know to work on it.
# shellcheck shell=bash

FERRITE_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

lab() {
    if [[ -n ${FERRITE_LAB:-} ]]; then
        "$FERRITE_LAB" "$@"
    else
        (cd "$FERRITE_ROOT" && cargo run --quiet --package pve-lab -- "$@")
    fi
}

# lab_keys DIR: the key pair that opens the lab's guests
lab_keys() { [[ -e $1/id_ed25519 ]] || ssh-keygen -q -t ed25519 -N '' -C ferrite-lab -f "$1/id_ed25519"; }

# lab_variables DIR: what another cluster would say in inventory/site/group_vars/all/guests.yml
lab_variables() {
    local subnet
    subnet=$(sed -nE 's/.*"name" *: *"vmbr0" *, *"subnet" *: *"([0-9.]+)".*/\1/p' <(tr -d '\n' <"$1/network.json"))
    cat <<YAML
---
guest_ssh_public_key_file: $1/id_ed25519.pub
ansible_ssh_private_key_file: $1/id_ed25519
pve_known_hosts_file: $1/known_hosts
guest_network: ${subnet:?no subnet of vmbr0 in $1/network.json}
YAML
}

# lab_close_connections DIR: Ansible keeps connections open for a minute; a guest that goes takes its own along
lab_close_connections() {
    local alias socket
    [[ -e $1/known_hosts ]] || return 0
    cut -d' ' -f1 "$1/known_hosts" | sort -u | while read -r alias; do
        for socket in "${ANSIBLE_HOME:-$HOME/.ansible}"/cp/"$alias"-*; do
            [[ ! -S $socket ]] || ssh -O exit -S "$socket" guest 2>/dev/null || rm -f "$socket"
        done
    done
}

# lab_writes DIR: how many requests so far could have changed something
lab_writes() { grep -cE '"method" *: *"(POST|PUT|DELETE)"' "$1/requests.jsonl" || true; }

# changed_tasks FILE: what a run of ansible-playbook changed, as "host: task", sorted
changed_tasks() {
    awk '/^TASK \[/ { task = $0; sub(/^TASK \[/, "", task); sub(/\] \**$/, "", task) }
         /^changed: \[/ { host = $0; sub(/^changed: \[/, "", host); sub(/[] ].*/, "", host); print host ": " task }' "$1" | sort
}

# recap_is_unchanged FILE: every host of the recap has changed=0, and there is at least one
recap_is_unchanged() {
    grep -q ' changed=0 ' "$1" && ! grep -qE ' (changed|unreachable|failed)=[1-9]' "$1"
}
