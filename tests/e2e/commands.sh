#!/bin/bash
# Every command that the pages show is run: here, against a lab, or by what is named below. One that is shown and not
# tried fails this test.
. "$(dirname "$0")/lib"

# the commands of all pages, one a line: what stands behind a prompt, or in a block of commands without one
commands() {
    python3 - README.md docs/*.md <<'PYTHON'
import re, sys
for path in sys.argv[1:]:
    for kind, block in re.findall(r"```(\w*)\n(.*?)```", open(path).read(), re.S):
        for line in block.splitlines():
            command = re.split(r"\s{2,}#\s|\s{3,}", line.strip())[0]
            prompt = re.match(r"[#$] (?=\S)", command)
            if kind == "console" and prompt:
                print(command[2:])
            elif kind in ("", "sh") and re.match(r"(\./|sudo |ansible-(inventory|playbook|galaxy) |make |cargo )", command):
                print(command)
PYTHON
}

# needs no root and no guest: what the commands say of the cluster is all that matters here
start_lab --state-only
echo '{"guest_sshkeys": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIMade commands", "guest_image": "local:import/debian-13.qcow2"}' >"$LAB/vars.yml"
mkdir "$LAB/folder"
printf 'customization:\n    systemExtensions:\n        officialExtensions:\n            - siderolabs/qemu-guest-agent\n' >"$LAB/folder/talos.yml"
spec='source: {image: nowhere.qcow2, checksum: "sha256:0"}'
printf 'name: web\n%s\npackages: [qemu-guest-agent]\nsnapshot: {id: 20250601T000000Z}\n' "$spec" >"$LAB/folder/web.yml"

# understood COMMAND...: whatever comes of it, it is not its words that are wrong; that a publisher cannot be reached, or
# not in time (124), is no failure of the page
understood() {
    local status=0
    (cd "$LAB/folder" && timeout 20 "$OLDPWD/$1" "${@:2}") >"$LAB/out" 2>&1 || status=$?
    ((status != 2 && status <= 124)) || fail "$*: ended with status $status"
    contains_not 'Usage:'
}

# installed programs have no tables to make a backtrace of, and must not die of being asked for one
export RUST_BACKTRACE=1
number=0
while IFS= read -r command; do
    number=$((number + 1))
    case $command in
        "make demo" | "make test" | "make dist")
            grep -q "^${command#make }:" Makefile || fail "the Makefile has no ${command#make }"
            ;;
        "pveum "*) ;; # made by cargo xtask docs of docs/privileges.yml, which the tests of the modules prove
        "ansible-playbook playbooks/site.yml") grep -q '^play playbooks/site.yml' tests/e2e/main_job.sh || fail "main_job.sh" ;;
        "ansible-playbook playbooks/site.yml --check --diff")
            # shellcheck disable=SC2086
            play ${command#ansible-playbook }
            ;;
        "ansible-inventory -i pve_inventory --graph" | "./pve_inventory show" | "./pve_inventory config")
            # shellcheck disable=SC2086
            try $command || fail "$command"
            contains_not "$(cat "$LAB/token-secret")"
            ;;
        "./pve_inventory explain web1")
            ! try ./pve_inventory explain web1 || fail "web1 is not made by this test"
            contains web1
            ;;
        "./ferrite-image schematic talos.yml"*)
            # shellcheck disable=SC2086
            understood $command
            if [[ $command != *--yaml ]]; then contains ce4c980550dd2ab1b17bbf2b08801c7eb59418eafe8f279833297925d67c7515; fi
            ;;
        "./ferrite-image "*)
            # shellcheck disable=SC2086
            understood $command
            ;;
        "sudo ./ferrite-image build web.yml"*)
            # shellcheck disable=SC2086
            understood ${command#sudo }
            contains checksum
            ;;
        "mkdir ee && cp docs/execution-environment.yml ee/ && "*) test -s docs/execution-environment.yml ;;
        # they need a container engine
        "cd ee && ansible-builder build "* | "ansible-navigator run ferrite.pve.site "*) ;;
        *) fail "nobody tries: $command" ;;
    esac
done < <(commands)
((number > 30)) || fail "only $number commands were found"
note "$number commands"
