#!/bin/bash
# What is handed out: the tarball is the same bytes each time, passes ansible-test, is installed into an empty path, and
# makes a guest from there with nothing of this repository.
. "$(dirname "$0")/lib"

version=$(sed -nE 's/^version = "(.*)"/\1/p' Cargo.toml)
dist() { try cargo xtask dist || fail "cargo xtask dist ended with status $?"; tail -n 1 "$LAB/out"; }

note "two builds give the same bytes"
tarball=$(dist)
same "${tarball##*/}" "ferrite-pve-$version.tar.gz" "the tarball's name"
before=$(sha256sum "$tarball")
tarball=$(dist)
same "$(sha256sum "$tarball")" "$before" "the second build"
try tar -tzf "$tarball"
for file in LICENSE LICENSES/THIRD-PARTY.txt sbom.cdx.json plugins/modules/pve_vm tools/pve_inventory playbooks/site.yml; do
    contains "$file"
done
contains_not '10-pve'

note "it is installed into an empty path"
mkdir "$LAB/site"
(cd "$LAB/site" && try ansible-galaxy collection install --offline -p collections "$tarball") || fail "the installation"
installed=$LAB/site/collections/ansible_collections/ferrite/pve
same "$(find "$installed" -type l)" '' "links in it"
same "$(grep -rlF "$PWD" "$installed" || true)" '' "files that name the folder it was built in"

note "ansible-test sanity"
# it would fetch pip's bootstrap from a host of its own; what Python brings does the same
sources=$(python3 -c 'import ansible_test, os; print(os.path.dirname(ansible_test.__file__))')
bootstrap=$(sed -nE "s/^ +pip='([0-9.]+)',$/\1/p" "$sources/_internal/python_requirements.py")
mkdir -p "$LAB/home/.ansible/test/cache"
printf 'import ensurepip\nensurepip.bootstrap(default_pip=True)\n' \
    >"$LAB/home/.ansible/test/cache/get_pip_${bootstrap//./_}.py"
cp -r "$LAB/site/collections" "$LAB/sanity"
python=$(python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')
(cd "$LAB/sanity/ansible_collections/ferrite/pve" && git init -q . && git add -A &&
    HOME=$LAB/home try ansible-test sanity --color no --python "$python") || fail "ansible-test sanity"

note "it makes and configures a guest from there"
start_lab
cp -r "$installed/examples/." "$LAB/site"
cp "$installed/tools/pve_inventory" "$LAB/site/inventory/site/10-pve"
rm "$LAB/site/inventory/guests/db1.yml"
sed -i '/^guests:/d' "$PVE_INVENTORY_CONFIG"
cd "$LAB/site"
same "$(ansible-doc --json ferrite.pve.pve_vm | grep -c '"filename"')" 1 "pages of pve_vm"
play ferrite.pve.site
changed_tasks "$LAB/out" >"$LAB/done"
grep -qx 'web1: ferrite.pve.pve_guest : Make the guest as its spec says' "$LAB/done" || fail "done: $(cat "$LAB/done")"
grep -q '^web1: ferrite.pve.base : ' "$LAB/done" || fail "done: $(cat "$LAB/done")"
play ferrite.pve.site
unchanged
