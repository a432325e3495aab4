#!/bin/bash
# What must not pass in silence: an inventory that fails, specs that nobody read, guests that do not exist.
. "$(dirname "$0")/lib"
start_lab

note "from the playbooks folder"
(cd playbooks && try ansible-playbook -e "@$LAB/vars.yml" site.yml --check) || fail "site.yml from playbooks/"
contains 'web1 does not exist yet'

note "guests that do not exist are not passed over"
! try ansible-playbook -e "@$LAB/vars.yml" playbooks/configure.yml || fail "configure.yml passed without a guest"
contains 'web1 has a spec, and the cluster has no such guest'
! try ansible-playbook -e "@$LAB/vars.yml" playbooks/configure.yml --limit db1 || fail "configure.yml --limit passed"
contains 'db1 has a spec'

note "an inventory that holds no specs"
! try ansible-playbook -i localhost, playbooks/site.yml || fail "site.yml passed on an inventory without specs"
contains 'No inventory source has the group pve_specs'

note "an inventory that fails: a token that the cluster does not know"
PROXMOX_TOKEN_SECRET=00000000-0000-4000-8000-00000000dead
export PROXMOX_TOKEN_SECRET
! try ansible-playbook -e "@$LAB/vars.yml" playbooks/site.yml || fail "site.yml passed with a wrong token"
contains 'does not accept token'
contains_not "$PROXMOX_TOKEN_SECRET"
unset PROXMOX_TOKEN_SECRET

note "an inventory that fails: a cluster that is away"
! try env PROXMOX_PORT=1 ansible-playbook -e "@$LAB/vars.yml" playbooks/site.yml || fail "site.yml passed without a cluster"
contains '127.0.0.1:1'
contains_not "$(cat "$LAB/token-secret")"
! try env PROXMOX_PORT=1 ansible-inventory --list || fail "an inventory of nothing passed"
contains_not '"_meta"'

note "none of it wrote anything"
same "$(lab_writes "$LAB")" 0 writes
