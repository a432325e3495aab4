#!/bin/bash
# A bridge at 172.17.0.1 that the guest lists before its NIC: the guest is still reached at net0's address.
. "$(dirname "$0")/lib"
start_lab
play playbooks/provision.yml --limit web1
address=$(hostvar web1 ansible_host)
guest web1 'ip link add docker0 type bridge; ip address add 172.17.0.1/16 dev docker0; ip link set docker0 up'
first=$(api GET /nodes/pve1/qemu/201/agent/network-get-interfaces |
    python3 -c 'import json, sys; print([i["name"] for i in json.load(sys.stdin)["result"] if i["name"] != "lo"][0])')
same "$first" docker0 "the first interface that the agent reports"
same "$(hostvar web1 ansible_host)" "$address" "the address"
play playbooks/site.yml --limit web1
play playbooks/site.yml --limit web1
unchanged
contains "${address//\"/}"
contains_not 172.17.0.1
