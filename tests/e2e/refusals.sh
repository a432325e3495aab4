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

note "an inventory that fails"
sed -i 's/^token_id:.*/token_id: nobody@pve!none/' "$PVE_INVENTORY_CONFIG"
! try ansible-playbook -e "@$LAB/vars.yml" playbooks/site.yml || fail "site.yml passed on a failing inventory"
contains '10-pve'
secret=$(cat "$LAB/token-secret")
contains_not "$secret"

note "a cluster that is away"
sed -i -E "s/^(token_id:).*/\1 $(. "$LAB/env"; echo "$PROXMOX_TOKEN_ID")/" "$PVE_INVENTORY_CONFIG"
lab down --dir "$LAB" >/dev/null
! try env PROXMOX_HOST=127.0.0.1 PROXMOX_PORT=1 PROXMOX_USER=root@pam PROXMOX_TOKEN_ID=a PROXMOX_TOKEN_SECRET=b \
    ansible-inventory --list || fail "an inventory of nothing passed"
contains_not '"_meta"'
