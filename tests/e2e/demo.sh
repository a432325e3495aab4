#!/bin/bash
# The demo in a copy of the project: it ends well, a second start begins anew, its removal leaves nothing.
. "$(dirname "$0")/lib"

# what a lab could leave on the machine
traces() {
    ip netns list | cut -d' ' -f1
    ip -o link show type veth | cut -d: -f2
    losetup --list --noheadings --output NAME,BACK-FILE
    grep -E 'ferrite|pve-lab|\.lab' /proc/mounts || true
    find /sys/fs/cgroup -maxdepth 3 -type d \( -name '*ferrite*' -o -name '*pve-lab*' \)
}

mkdir "$LAB/project"
cp -a --parents ansible.cfg playbooks roles inventory collections pve_inventory tests/demo tests/lab.sh "$LAB/project"
rm -f "$LAB"/project/{,inventory/site/}pve_inventory.cfg "$LAB/project/inventory/site/group_vars/all/lab.yml"
cargo build --quiet --package pve-lab --message-format json | grep -o '"executable":"[^"]*/pve-lab"' | cut -d'"' -f4 >"$LAB/binary"
FERRITE_LAB=$(cat "$LAB/binary")
export FERRITE_LAB
unset PVE_INVENTORY_CONFIG
cd "$LAB/project" || exit
traces >"$LAB/before"

note "it refuses to take the place of a configuration that is not its own"
echo 'url: https://pve.example.com:8006' >pve_inventory.cfg
! try tests/demo up || fail "the demo overwrote a configuration"
contains 'pve_inventory.cfg is yours'
same "$(cat pve_inventory.cfg)" 'url: https://pve.example.com:8006' "the configuration"
rm pve_inventory.cfg

note "it runs to its end"
try tests/demo up || { tests/demo down; fail "the demo"; }
contains 'changed=0 on every host'
try ansible-playbook playbooks/site.yml || fail "the command of the README, from another shell"
try ansible-inventory -i pve_inventory --list || fail "the inventory, from another shell"
contains '"pve_managed"'
(cd playbooks && try ansible-playbook site.yml) || fail "site.yml from playbooks/"

note "stopped in the middle, its removal leaves nothing"
setsid tests/demo up >"$LAB/out" 2>&1 &
demo=$!
until grep -q '^== 3' "$LAB/out"; do kill -0 $demo || fail "the demo ended early"; done
kill -INT -- -$demo
wait $demo || true
tests/demo down
[[ ! -e .lab && ! -e pve_inventory.cfg && ! -e inventory/site/pve_inventory.cfg ]] || fail "files of the demo are left"
traces | diff "$LAB/before" - || fail "the demo left traces"
cd "$LAB/.." || exit
