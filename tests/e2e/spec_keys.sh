#!/bin/bash
# Every setting of pve_vm can be said in a guest spec: the role passes each, and the inventory accepts each.
set -euo pipefail
cd "$(dirname "$0")/../.."
# what is not a guest's setting, or is the task's to decide and not the spec's
not_in_specs='digest|api_.*|ca_path|validate_certs|name|state|pool|cipassword|update_password|delete|update|force|purge|destroy_unreferenced_disks|wait_for|wait_timeout|shutdown_timeout|address_net|address_family'
# where a guest comes from and where it goes, which is said in a task
not_in_specs+='|archive|clone|format|full|newid|snapname|storage|target|template|unique|migrate|online|with_local_disks|targetstorage|move|revert|timeout'

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
collections/ansible_collections/ferrite/pve/plugins/modules/pve_vm --describe |
    python3 -c 'import json, sys; print("\n".join(json.load(sys.stdin)["DOCUMENTATION"]["options"]))' |
    grep -vxE "$not_in_specs" | sort >"$work/options"
sed -nE 's/^    ([a-z0-9_]+): "\{\{.*/\1/p' roles/pve_guest/tasks/guest.yml | grep -vxE "$not_in_specs|pve_guest_.*" | sort >"$work/passed"
diff "$work/options" "$work/passed" || { echo "< options of pve_vm, > what roles/pve_guest passes"; exit 1; }
echo "roles/pve_guest passes all $(wc -l <"$work/options") settings of pve_vm"
