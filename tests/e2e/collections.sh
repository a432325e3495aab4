#!/bin/bash
# A pinned collection that is there is left alone; one that is missing, or of another version, is named. What roles and
# playbooks use is pinned.
set -euo pipefail
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# no publisher answers here, so that nothing can be installed by chance
export ANSIBLE_GALAXY_SERVER=http://127.0.0.1:9/ ANSIBLE_GALAXY_SERVER_TIMEOUT=5
fail() { printf '%s\n' "$*" >&2; cat "$work/out" >&2; exit 1; }

# tries PINNED EXPECTED-STATUS [TEXT]
tries() {
    local status=0
    printf 'collections: %s\n' "$1" >"$work/requirements.yml"
    tests/collections.sh "$work/requirements.yml" "$work" >"$work/out" 2>&1 || status=$?
    ((status == $2)) || fail "$1: ended with status $status"
    [[ -z ${3:-} ]] || grep -qF -- "$3" "$work/out" || fail "$1: did not say: ${3:-}"
}
there=$work/ansible_collections/example/there
mkdir -p "$there"
echo '{"collection_info": {"version": "1.0.0"}}' >"$there/MANIFEST.json"

for nothing_to_do in '[]' '[{name: example.there, version: 1.0.0}]'; do
    tries "$nothing_to_do" 0
    [[ ! -s $work/out ]] || fail "$nothing_to_do: was not left alone"
done
tries '[{name: example.there, version: 1.0.1}]' 1 "missing in $work: example.there:1.0.1;"
tries '[{name: example.absent, version: 2.0.0}, {name: example.there, version: 1.0.0}]' 1 "missing in $work: example.absent:2.0.0;"
tries '[example.absent]' 1 'example.absent needs a name like'
tries '[{name: example.absent, version: ">=1"}]' 1 'example.absent needs a name like'

used=$(grep -rhoE --include='*.yml' '^ *(- )?[a-z0-9_]+\.[a-z0-9_]+\.[a-z0-9_]+:' roles playbooks tests/playbooks tests/molecule |
    sed -E 's/^ *(- )?//; s/\.[a-z0-9_]+:$//' | sort -u)
grep -qx ferrite.pve <<<"$used" || { : >"$work/out"; fail "no module of ours was found in roles and playbooks"; }
for collection in $used; do
    case $collection in
        ansible.builtin | ferrite.pve) ;;
        *) grep -qE "name: $collection\b" requirements.yml || { : >"$work/out"; fail "requirements.yml does not pin $collection"; } ;;
    esac
done
