#!/bin/bash
# The privileges that the README gives a token are enough to make a guest and to remove it.
. "$(dirname "$0")/lib"
start_lab

privileges=$(sed -nE 's/.*pveum role add Ferrite -privs "([^"]+)".*/\1/p' README.md)
api POST /access/roles roleid=Ferrite "privs=${privileges:?not in README.md}" >/dev/null
api POST /access/users userid=reader@pve >/dev/null
api PUT /access/acl path=/ users=reader@pve roles=Ferrite >/dev/null
api POST /access/users/reader@pve/token/ferrite privsep=0 |
    python3 -c 'import json, sys; print(json.load(sys.stdin)["value"])' >"$LAB/token-of-the-readme"
chmod 600 "$LAB/token-of-the-readme"
mkdir "$LAB/specs"
cp inventory/guests/web1.yml "$LAB/specs"
sed -i -E -e 's/^user:.*/user: reader@pve/' -e "s#^token_secret_file:.*#token_secret_file: $LAB/token-of-the-readme#" "$PVE_INVENTORY_CONFIG"
echo "guests: $LAB/specs" >>"$PVE_INVENTORY_CONFIG"

note "it makes a guest"
play playbooks/provision.yml
same "$(changed_tasks "$LAB/out")" 'web1: pve_guest : Make the guest as its spec says' "done"
play playbooks/provision.yml
unchanged

note "it removes a guest whose spec was moved to guests/destroy, and no other"
play playbooks/destroy.yml
same "$(changed_tasks "$LAB/out")" '' "done while the spec is in its place"
mkdir "$LAB/specs/destroy"
mv "$LAB/specs/web1.yml" "$LAB/specs/destroy"
play playbooks/destroy.yml --check
same "$(changed_tasks "$LAB/out")" 'web1: pve_guest : Remove the guest and its disks' "foretold"
play playbooks/destroy.yml
same "$(changed_tasks "$LAB/out")" 'web1: pve_guest : Remove the guest and its disks' "done"
same "$(api GET '/cluster/resources?type=vm')" '[]' "guests"
play playbooks/destroy.yml
unchanged
