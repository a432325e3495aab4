#!/bin/bash
# Role pve_template: a template on each node, another one when the image is another, and the one before stays for as long as
# a linked copy needs it. Role talos_image: a machine made of the image itself.
. "$(dirname "$0")/lib"
start_lab --state-only --nodes 2 --lag 0 --delays 0
set -a
. "$LAB/env"
set +a
export ANSIBLE_LOCALHOST_WARNING=false ANSIBLE_PYTHON_INTERPRETER=auto_silent

# image NAME: a disk that is nothing but its name
image() { truncate -s 4M "$LAB/$1.raw" && printf '%s' "$1" | dd of="$LAB/$1.raw" conv=notrunc status=none; }
templates() { play tests/playbooks/templates.yml -i localhost, -c local -e "image=$LAB/$1.raw" "${@:2}"; }
# vms: number, node and tags of each machine
vms() {
    api GET '/cluster/resources?type=vm' | python3 -c 'import json, sys
for row in sorted(json.load(sys.stdin), key=lambda row: row["vmid"]):
    print(row["vmid"], row["node"], row["name"], row.get("template", 0))'
}
image first
image second

note "check mode foretells a template on each node and writes nothing"
templates first --check
contains 'golden (9000) would be made on pve1'
contains 'golden (9001) would be made on pve2'
same "$(lab_writes "$LAB")" 0 "writes in check mode"

note "each node gets one, once"
templates first
same "$(vms)" "$(printf '9000 pve1 golden 1\n9001 pve2 golden 1')" "templates"
templates first
unchanged

note "what was interrupted is finished under the same number"
api DELETE /nodes/pve2/qemu/9001 >/dev/null
templates first
same "$(vms)" "$(printf '9000 pve1 golden 1\n9001 pve2 golden 1')" "templates"

note "a linked copy keeps the template that it is a copy of"
api POST /nodes/pve1/qemu/9000/clone newid=200 name=copy full=0 >/dev/null
until api GET /nodes/pve1/qemu/200/config | grep -q '"scsi0"'; do :; done
templates second
same "$(vms)" "$(printf '200 pve1 copy 0\n9000 pve1 golden 1\n9002 pve1 golden 1\n9003 pve2 golden 1')" "templates of the second image"
templates second
unchanged
api DELETE /nodes/pve1/qemu/200 >/dev/null
until [[ $(vms) != *copy* ]]; do :; done
templates second
same "$(vms)" "$(printf '9002 pve1 golden 1\n9003 pve2 golden 1')" "templates when the copy is gone"
templates second
unchanged

note "a machine of Talos is made of the image"
printf 'customization:\n  systemExtensions:\n    officialExtensions: [siderolabs/qemu-guest-agent]\n' >"$LAB/schematic.yaml"
id=$(./ferrite-image schematic "$LAB/schematic.yaml")
mkdir -p "$LAB/factory/image/$id/v1.11.5"
cp "$LAB/first.raw" "$LAB/factory/image/$id/v1.11.5/nocloud-amd64.raw"
python3 -u -m http.server --bind 127.0.0.1 --directory "$LAB/factory" 0 >"$LAB/factory.log" 2>&1 &
factory=$!
trap 'kill $factory 2>/dev/null; finish $?' EXIT
until port=$(sed -nE 's/.* port ([0-9]+) .*/\1/p' "$LAB/factory.log") && [[ -n $port ]]; do kill -0 $factory; done
cat >"$LAB/talos.json" <<JSON
{"entry": {"publisher": "talos", "release": "v1.11.5", "extensions": ["siderolabs/qemu-guest-agent"],
  "mirror": "http://127.0.0.1:$port", "checksum": "sha256:$(sha256sum "$LAB/first.raw" | cut -d' ' -f1)"}}
JSON
play tests/playbooks/talos.yml -i localhost, -c local -e "@$LAB/talos.json"
api GET /nodes/pve1/qemu/300/config >"$LAB/out"
contains '"name": "talos"'
play tests/playbooks/talos.yml -i localhost, -c local -e "@$LAB/talos.json"
unchanged
