#!/bin/bash
# From nothing to configured guests: foretold, done, and not done again; what is spoiled is mended and nothing else.
. "$(dirname "$0")/lib"
start_lab

note "check mode foretells the guests and writes nothing"
play playbooks/site.yml --check --diff
same "$(changed_tasks "$LAB/out")" "$(printf '%s: pve_guest : Make the guest as its spec says\n' db1 web1)" "foretold"
contains 'web1 does not exist yet'
same "$(lab_writes "$LAB")" 0 "writes in check mode"

note "after provisioning alone, check mode foretells the base"
play playbooks/provision.yml
play playbooks/site.yml --check --diff
changed_tasks "$LAB/out" >"$LAB/foretold"
grep -q '^web1: base : ' "$LAB/foretold" || fail "nothing of the base was foretold"
play playbooks/site.yml
changed_tasks "$LAB/out" >"$LAB/done"
diff "$LAB/foretold" "$LAB/done" || fail "the run did other things than check mode foretold"

note "the second run changes nothing and writes nothing"
writes=$(lab_writes "$LAB")
play playbooks/site.yml
unchanged
same "$(lab_writes "$LAB")" "$writes" "writes of the second run"

# mended HOST TASK: check mode foretells exactly that task on that host, a run changes it, and the next one nothing
mended() {
    play playbooks/site.yml --check
    same "$(changed_tasks "$LAB/out")" "$1: $2" "foretold"
    play playbooks/site.yml
    same "$(changed_tasks "$LAB/out")" "$1: $2" "mended"
    play playbooks/site.yml
    unchanged
}

note "a tag that somebody changed"
api PUT /nodes/pve1/qemu/201/config tags=other >/dev/null
mended web1 'pve_guest : Make the guest as its spec says'

note "a timer that somebody unmasked"
guest web1 'systemctl unmask apt-daily.timer'
mended web1 'base : Mask the timers'

note "a drop-in that somebody edited"
guest db1 'echo PasswordAuthentication yes >/etc/ssh/sshd_config.d/10-base.conf'
mended db1 'base : Place the drop-in for key-only ssh'

note "a source that somebody pointed at the live archive"
guest db1 "sed -i -E 's#https?://snapshot.debian.org/archive/debian/[0-9TZ]+/?#http://deb.debian.org/debian#' /etc/apt/sources.list.d/debian.sources"
mended db1 'base : Pin the package sources to the snapshot'

note "the same where the packages of the spec are installed already"
guest web1 "sed -i -E 's#https?://snapshot.debian.org/archive/debian/[0-9TZ]+/?#http://deb.debian.org/debian#' /etc/apt/sources.list.d/debian.sources"
mended web1 'base : Pin the package sources to the snapshot'

note "what the system itself says"
guest web1 'sshd -T | grep -i authentication; systemctl is-enabled apt-daily.timer; apt-cache policy ferrite-demo'
contains 'passwordauthentication no'
contains 'kbdinteractiveauthentication no'
contains masked
contains 'Installed: 2.0'

note "a guest without an address is named, and nothing else is tried in its place"
api POST /nodes/pve1/qemu/201/status/stop >/dev/null
until api GET /nodes/pve1/qemu/201/status/current | grep -q '"status": "stopped"'; do :; done
! try ansible-playbook -e "@$LAB/vars.yml" playbooks/configure.yml --limit web1,localhost || fail "configure.yml passed"
contains 'web1 has no address: '
