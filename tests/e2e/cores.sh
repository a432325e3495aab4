#!/bin/bash
# Every supported ansible-core that this machine has a Python for: all modules, the inventory and what they say.
. "$(dirname "$0")/lib"
start_lab --state-only
. "$LAB/env"
export ANSIBLE_LOCALHOST_WARNING=false ANSIBLE_PYTHON_INTERPRETER=auto_silent

for module in modules/*/; do
    module=ferrite.pve.$(basename "$module")
    cat <<YAML
- name: Give an option that is none to $module
  $module: {no_such_option: 1}
  register: refused
  failed_when: "'Unsupported parameters for ($module) module: no_such_option' not in refused.msg"
YAML
done >"$LAB/refusals.yml"
seen=()
for pins in tests/cores/*.txt; do
    core=$(basename "$pins" .txt)
    bin=$(tests/core "$core") || { (($? == 77)) || fail "ansible-core $core cannot be installed"; continue; }
    note "ansible-core $core"
    export PATH=$bin:$PATH ANSIBLE_HOME=$LAB/home-$core
    try ansible --version
    contains "[core $core."
    cp -r tests/fixtures/hosts/debian-12 "$LAB/tree-$core"
    play tests/playbooks/cores.yml -i localhost, -c local -e "refusals=$LAB/refusals.yml tree=$LAB/tree-$core"
    contains_not WARNING
    contains_not DEPRECATION
    contains_not nevershown
    same "$(readlink "$LAB/tree-$core/etc/systemd/system/apt-daily.timer")" /dev/null 'the masked timer'
    try ansible-inventory -i pve_inventory --graph || fail "ansible-inventory"
    contains '@pve_specs:'
    seen+=("$core")
done
# a test without a core tests nothing; what is pinned for the other tests is always there
[[ " ${seen[*]} " == *" 2.19 "* ]] || fail "only found: ${seen[*]}"
