#!/bin/bash
# A guest with all that makes others choose wrongly: a bridge that is listed before the NIC, a second NIC, a pair of
# veth, an interface as a VLAN on the NIC is, more addresses, and at last a bridge over the NIC that takes its address. It is reached
# at net0's address all the time, by the inventory and by pve_vm.
. "$(dirname "$0")/lib"
start_lab
play playbooks/provision.yml --limit web1
address=$(hostvar web1 ansible_host)

# the result of pve_vm for web1, as JSON
vm() {
    (. "$LAB/env" && ANSIBLE_LOAD_CALLBACK_PLUGINS=1 ANSIBLE_STDOUT_CALLBACK=ansible.builtin.oneline ansible localhost \
        -i localhost, -c local -m ferrite.pve.pve_vm -a "$1") >"$LAB/out" 2>&1 || fail "pve_vm $1"
    sed 's/^[^{]*//' "$LAB/out"
}
# of PROGRAM: what a line of Python makes of the JSON on stdin, in `d`
of() { python3 -c "import json, sys; d = json.load(sys.stdin); print($1)"; }
reported() { api GET /nodes/pve1/qemu/201/agent/network-get-interfaces | of "$1"; }
names='[i["name"] for i in d["result"]]'
reached() {
    same "$(hostvar web1 ansible_host)" "$address" "the address in the inventory $1"
    same "$(vm '{"vmid": 201, "wait_for": "address"}' | of 'json.dumps(d["address"])')" "$address" "the address of pve_vm $1"
    # and it is the guest that answers there
    same "$(guest_says 'cat /etc/hostname')" web1 "the host name $1"
}
guest_says() { guest web1 "$1"; grep -v -e 'CHANGED' -e '^$' "$LAB/out" | tr -d '\r' | head -n1; }

# a second NIC needs a new start, which pve_vm does when it is told to
bridge=$(api GET /nodes/pve1/qemu/201/config | of 'd["net0"].split("bridge=")[1].split(",")[0]')
vm "{\"vmid\": 201, \"net\": {\"net1\": \"virtio,bridge=$bridge\"}, \"reboot\": \"if_required\", \"wait_for\": \"address\"}" >/dev/null
macs=$(api GET /nodes/pve1/qemu/201/config | of '" ".join(d[n].split("=")[1].split(",")[0].lower() for n in ("net0", "net1"))')
read -r mac0 mac1 <<<"$macs"
device() { reported "next(i['name'] for i in d['result'] if i.get('hardware-address') == '$1')"; }
nic=$(device "$mac0") second=$(device "$mac1")
reached "after the new start"

guest web1 'ip link add docker0 type bridge; ip address add 172.17.0.1/16 dev docker0; ip link set docker0 up'
same "$(reported "[n for n in $names if n != 'lo'][0]")" docker0 "the first interface that the agent reports"
guest web1 "ip address flush dev $second; ip address add 10.88.0.7/24 dev $second; ip link set $second up"
guest web1 'ip link add vetha type veth peer name vethb; ip address add 10.66.0.1/24 dev vetha; ip link set vetha up'
# as a VLAN on the NIC is reported: kernels of test machines seldom have 802.1Q
guest web1 "ip link add $nic.30 address $mac0 type veth peer name vethc; ip address add 10.30.0.5/24 dev $nic.30; ip link set $nic.30 up"
guest web1 "ip address add 10.222.0.9/24 dev $nic; ip -6 address add fd00:77::9/64 dev $nic"
same "$(reported "sum(i.get('hardware-address') == '$mac0' for i in d['result'])")" 2 "interfaces with the MAC of net0"
for other in 172.17.0.1 10.88.0.7 10.66.0.1 10.30.0.5 10.222.0.9; do
    reported "json.dumps(d)" | grep -qF "\"$other\"" || fail "the agent does not report $other"
done
reached "beside five others"

play playbooks/site.yml --limit web1
play playbooks/site.yml --limit web1
unchanged
contains "${address//\"/}"
contains_not 172.17.0.1

# the bridge takes the NIC's MAC, and its address in the same breath
ip=${address//\"/}
guest web1 "prefix=\$(ip -o -4 address show dev $nic | grep -o '$ip/[0-9]*'); gateway=\$(ip route show default | cut -d' ' -f3 | head -n1)
ip link add name br0 address $mac0 type bridge; ip link set $nic master br0; ip link set br0 up
ip address flush dev $nic; ip address add \$prefix dev br0; ip route replace default via \$gateway dev br0"
same "$(reported "[len(i.get('ip-addresses', [])) > 0 for i in d['result'] if i['name'] == '$nic'][0]")" False "addresses on the NIC in the bridge"
reached "with a bridge over the NIC"
