#!/bin/bash
# Installs the foreign collections that requirements.yml pins into collections/, where ansible.cfg makes every tool look,
# and names those that are missing. With no pins there is nothing to do.
#   tests/collections.sh [REQUIREMENTS [FOLDER]]
set -euo pipefail
cd "$(dirname "$0")/.."
requirements=${1:-requirements.yml}
folder=${2:-collections}
export PATH=$PWD/.venv/bin:$PATH

say() { printf 'collections: %s\n' "$*" >&2; }

# NAME:VERSION of each pinned collection that is not in the folder in this version
missing() {
    python3 - "$requirements" "$folder" <<'PYTHON'
import json, re, sys, yaml
requirements, folder = sys.argv[1:]
for entry in (yaml.safe_load(open(requirements)) or {}).get("collections") or []:
    name, version = (entry.get("name"), entry.get("version")) if isinstance(entry, dict) else (entry, None)
    if not re.fullmatch(r"\w+\.\w+", str(name)) or not re.fullmatch(r"\d+\.\d+\.\d+", str(version)):
        sys.exit(f"collections: {requirements}: {name} needs a name like community.general and a version like 1.2.3")
    try:
        manifest = open(f"{folder}/ansible_collections/{name.replace('.', '/')}/MANIFEST.json")
        there = json.load(manifest)["collection_info"]["version"]
    except FileNotFoundError:
        there = None
    if there != version:
        print(f"{name}:{version}")
PYTHON
}

list=$(missing)
[[ -n $list ]] || exit 0
mapfile -t wanted <<<"$list"
say "installing ${wanted[*]} into $folder"
ansible-galaxy collection install --force --no-deps --collections-path "$folder" "${wanted[@]}" >&2 || true
left=$(missing)
[[ -z $left ]] || { say "missing in $folder: ${left//$'\n'/ }; requirements.yml pins them, and ansible-galaxy could not install them"; exit 1; }
