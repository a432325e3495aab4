#!/bin/bash
# The demo in a copy of the project: it ends well, it says what docs/demo.txt recorded, a second start begins anew, its
# removal leaves nothing. `tests/e2e/demo.sh --record` writes docs/demo.txt anew.
. "$(dirname "$0")/lib"

# traces NAME: what the lab of this name has, or has left, on the machine
traces() {
    local file line
    {
        ip netns list
        ip -o link show
        losetup --list --noheadings --output NAME,BACK-FILE
        cat /proc/mounts
        find /sys/fs/cgroup -maxdepth 3 -type d
        ls /dev/shm
        for file in /proc/[0-9]*/cmdline; do
            line=$(tr '\0' ' ' <"$file") && echo "process: $line"
        done 2>/dev/null
    } >"$LAB/machine"
    grep -F -e "$1" -e "$LAB" "$LAB/machine" || true
}

# told FILE: what the demo said without what differs from run to run: folders, keys, addresses, times, and which of two
# hosts was done first
told() {
    sed -E "s|/[^ ]*/\.lab/env|/PROJECT/.lab/env|; s/(ssh-ed25519) [A-Za-z0-9+\/=.]+/\1 KEY/
        s/10\.77\.[0-9]+\./10.77.0./g; s/(web1 at 10\.77\.0\.)[0-9]+/\1N/; s/^== Done in [0-9]+ s/== Done in N s/
        s/[0-9]+ requests/N requests/; s/ +$//" "$1" | awk '/^== /{part++} {print part "\t" $0}' | sort
}

project=$PWD
mkdir "$LAB/project"
cp -a --parents ansible.cfg playbooks roles inventory collections pve_inventory tests/demo tests/lab.sh "$LAB/project"
rm -f "$LAB"/project/{,inventory/site/}pve_inventory.cfg "$LAB/project/inventory/site/group_vars/all/lab.yml"
cargo build --quiet --package pve-lab --message-format json | grep -o '"executable":"[^"]*/pve-lab"' | cut -d'"' -f4 >"$LAB/binary"
FERRITE_LAB=$(cat "$LAB/binary")
export FERRITE_LAB
unset PVE_INVENTORY_CONFIG
cd "$LAB/project" || exit

note "it refuses to take the place of a configuration that is not its own"
echo 'url: https://pve.example.com:8006' >pve_inventory.cfg
! try tests/demo up || fail "the demo overwrote a configuration"
contains 'pve_inventory.cfg is yours'
same "$(cat pve_inventory.cfg)" 'url: https://pve.example.com:8006' "the configuration"
rm pve_inventory.cfg

note "it runs to its end and says what docs/demo.txt recorded"
try tests/demo up || { tests/demo down; fail "the demo"; }
contains 'changed=0 on every host'
if [[ ${1:-} == --record ]]; then
    sed -E 's|/[^ ]*/\.lab/env|/root/ferrite/.lab/env|; s/(ssh-ed25519 [A-Za-z0-9+\/]{12})[A-Za-z0-9+\/=]+/\1.../; s/ +$//' \
        "$LAB/out" >"$project/docs/demo.txt"
fi
told "$project/docs/demo.txt" >"$LAB/recorded"
told "$LAB/out" | diff -u "$LAB/recorded" - >"$LAB/differences" ||
    { cat "$LAB/differences"; tests/demo down; fail "docs/demo.txt is stale: tests/e2e/demo.sh --record writes it"; }
try ansible-playbook playbooks/site.yml || fail "the command of the README, from another shell"
try ansible-inventory -i pve_inventory --list || fail "the inventory, from another shell"
contains '"pve_managed"'
(cd playbooks && try ansible-playbook site.yml) || fail "site.yml from playbooks/"

note "stopped in the middle, its removal leaves nothing"
setsid tests/demo up >"$LAB/out" 2>&1 &
demo=$!
until grep -q '^== 4' "$LAB/out"; do kill -0 $demo || fail "the demo ended early"; done
name=$(sed -nE 's/.*"name": *"(f[0-9a-z]+)".*/\1/p' .lab/network.json | head -n1)
[[ $(traces "${name:?}") == *"$name"* ]] || fail "a lab that stands has traces"
kill -INT -- -$demo
wait $demo || true
tests/demo down
[[ ! -e .lab && ! -e pve_inventory.cfg && ! -e inventory/site/pve_inventory.cfg ]] || fail "files of the demo are left"
same "$(traces "$name")" '' "what the demo left"
cd "$LAB/.." || exit
