#!/bin/bash
# A run that is killed at any point leaves something that the next run finishes, with one guest of the name.
. "$(dirname "$0")/lib"
start_lab

# family PID: the process and all that it started; Ansible gives its modules a session of their own
family() {
    local child
    echo "$1"
    for child in $(cat /proc/"$1"/task/*/children 2>/dev/null); do family "$child"; done
}

# killed_after N: start a run, kill -9 all of it once the lab has seen N writes, and run again
killed_after() {
    local goal=$(($(lab_writes "$LAB") + $1)) run
    ansible-playbook -e "@$LAB/vars.yml" playbooks/provision.yml --limit web1 >"$LAB/out" 2>&1 &
    run=$!
    until (($(lab_writes "$LAB") >= goal)); do
        kill -0 $run 2>/dev/null || fail "the run ended before its write number $1"
    done
    # shellcheck disable=SC2046 # one word a process
    kill -9 $(family $run) 2>/dev/null || true
    wait $run 2>/dev/null || true
    note "killed after write $1"
    play playbooks/provision.yml --limit web1
    same "$(api GET '/cluster/resources?type=vm' | python3 -c 'import json, sys; print([(g["vmid"], g["name"], g["status"]) for g in json.load(sys.stdin)])')" \
        "[(201, 'web1', 'running')]" "guests"
    play playbooks/provision.yml --limit web1
    unchanged
}

# remove_guest: as a person would, so that the next round begins with none
remove_guest() {
    api POST /nodes/pve1/qemu/201/status/stop skiplock=0 >/dev/null
    until [[ $(api GET /nodes/pve1/qemu/201/status/current) == *'"status": "stopped"'* ]]; do :; done
    api DELETE /nodes/pve1/qemu/201 >/dev/null
    until [[ $(api GET '/cluster/resources?type=vm') == '[]' ]]; do :; done
}

killed_after 1
remove_guest
killed_after 2
