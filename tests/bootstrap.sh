#!/bin/bash
# Installs what is missing on Debian or Ubuntu, and is quick when nothing is.
#   tests/bootstrap.sh build   compiler and Rust: enough for `make build` and `make docs`
#   tests/bootstrap.sh all     also what the lab, the demo and the tests run
set -euo pipefail
cd "$(dirname "$0")/.."
want=${1:-all}

RUST_AT_LEAST=1.88
PACKAGES=(gcc libc6-dev make ca-certificates)
if [[ $want == all ]]; then
    PACKAGES+=(python3 python3-venv file
        # the lab: images, guests, their network, their package repository
        mmdebstrap debian-archive-keyring systemd-container qemu-utils e2fsprogs
        iproute2 dnsmasq-base openssh-client apt-utils dpkg-dev gnupg openssl strace)
fi

say() { printf 'bootstrap: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

[[ $(uname -sm) == "Linux x86_64" ]] || die "the control node must be Linux on x86_64, this is $(uname -sm)"
command -v apt-get >/dev/null || die "only Debian and Ubuntu are prepared here; elsewhere install by hand: ${PACKAGES[*]}, Rust $RUST_AT_LEAST"

installed() { [[ $(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null) == installed ]]; }
available() { apt-cache show "$1" >/dev/null 2>&1; }

install_packages() {
    local missing=() name
    for name in "$@"; do installed "$name" || missing+=("$name"); done
    ((${#missing[@]})) || return 0
    ((EUID == 0)) || die "these packages are missing, run it as root or install them first: ${missing[*]}"
    apt_install "${missing[@]}"
}

# also brings those up to date that are there
apt_install() {
    say "installing $*"
    refresh_lists
    # a package that brings a service must not start it here: the tests only need its program
    local policy=/usr/sbin/policy-rc.d placed=
    [[ -e $policy ]] || { printf '#!/bin/sh\nexit 101\n' >"$policy"; chmod 755 "$policy"; placed=1; }
    local status=0
    DEBIAN_FRONTEND=noninteractive apt-get install --yes --quiet --no-install-recommends -o Dpkg::Use-Pty=0 "$@" >&2 || status=$?
    [[ -z $placed ]] || rm -f "$policy"
    ((status == 0)) || die "apt-get could not install $*"
}

refresh_lists() {
    [[ -n ${lists_are_fresh:-} ]] || apt-get update --quiet >&2 || die "apt-get update failed"
    lists_are_fresh=1
}

newer_or_equal() { [[ $(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n1) == "$2" ]]; }

rust_is_there() {
    local version
    version=$(cargo --version 2>/dev/null | cut -d' ' -f2) && [[ -n $version ]] && newer_or_equal "$version" "$RUST_AT_LEAST"
}

candidate() { LC_ALL=C apt-cache policy "$1" | sed -n 's/^  Candidate: //p'; }

# Debian brings that compiler up to date in its security archive, which a bare debootstrap leaves out. Prints the file
# that names it, to be removed when the packages are there.
add_security_archive() {
    local suite file=/etc/apt/sources.list.d/ferrite-rust.list
    suite=$(. /etc/os-release && [[ $ID == debian ]] && echo "$VERSION_CODENAME") || return 0
    say "taking Rust from Debian's security archive"
    echo "deb http://deb.debian.org/debian-security $suite-security main" >"$file"
    apt-get update --quiet >&2 || { rm -f "$file"; die "apt-get update failed"; }
    echo "$file"
}

install_rust() {
    rust_is_there && return
    local installer numbered
    # rustup has the musl target, which makes binaries a third of the size; distributions rarely package it
    if [[ ! -x $HOME/.cargo/bin/rustup ]] && command -v curl >/dev/null &&
        installer=$(curl --silent --fail --max-time 20 --proto '=https' https://sh.rustup.rs); then
        say "installing Rust by rustup"
        sh -s -- -y --quiet --profile minimal --component clippy,rustfmt --target x86_64-unknown-linux-musl <<<"$installer" >&2 || true
        rust_is_there && return
    fi
    ((EUID == 0)) || die "cargo >= $RUST_AT_LEAST is missing, run it as root or install Rust first (https://rustup.rs)"
    refresh_lists
    numbered=$(apt-cache search --names-only '^cargo-1\.[0-9]+$' | cut -d' ' -f1 | sort -V | tail -n1)
    if available cargo-web; then
        # Debian's own rustc is older than we need; this is the one that it builds browsers with
        local security=
        newer_or_equal "$(candidate cargo-web)" "$RUST_AT_LEAST" || security=$(add_security_archive)
        apt_install rustc-web cargo-web rust-web-clippy rustfmt-web
        [[ -z $security ]] || rm -f "$security"
    elif [[ -n $numbered ]]; then
        install_packages "$numbered" "rustc-${numbered#cargo-}"
        mkdir -p .venv/bin
        ln -sf /usr/lib/rust-"${numbered#cargo-}"/bin/* .venv/bin/
    else
        install_packages rustc cargo
    fi
    hash -r
    rust_is_there || die "no cargo >= $RUST_AT_LEAST here ($(cargo --version 2>&1 | head -n1)); install Rust by https://rustup.rs and start again"
}

# ansible-core 2.19 wants Python 3.11 to 3.13. Absolute paths only: a version manager's shims answer
# --version and then refuse to run.
find_python() {
    local python
    for python in /usr/bin/python3{,.13,.12,.11} /usr/local/bin/python3{,.13,.12,.11} "$HOME"/.pyenv/versions/3.1[123]*/bin/python3; do
        if [[ -x $python ]] && "$python" -c 'import ensurepip, ssl, sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' 2>/dev/null; then
            echo "$python"
            return
        fi
    done
    return 1
}

install_tools() {
    local stamp=.venv/requirements.sha256 now python
    now=$(sha256sum tests/requirements.txt)
    if [[ -x .venv/bin/ansible-playbook && $(cat "$stamp" 2>/dev/null) == "$now" ]] && .venv/bin/python -c '' 2>/dev/null; then
        return
    fi
    # --clear would empty the folder behind the link, which is another checkout's
    [[ ! -L .venv ]] || die ".venv is a link to $(readlink .venv), and the pinned tools are not in it; remove the link, or install them there"
    python=$(find_python) || {
        refresh_lists
        available python3.11-venv || die "no Python from 3.11 to 3.13 here, and none to install"
        install_packages python3.11 python3.11-venv
        python=$(find_python) || die "python3.11 was installed and does not run"
    }
    say "installing the pinned tools into .venv ($("$python" --version))"
    "$python" -m venv --clear .venv
    .venv/bin/pip install --quiet --disable-pip-version-check --requirement tests/requirements.txt >&2 || die "pip could not install tests/requirements.txt"
    echo "$now" >"$stamp"
}

install_packages "${PACKAGES[@]}"
export PATH=$PWD/.venv/bin:$HOME/.cargo/bin:$PATH
if [[ $want == all ]]; then
    install_tools
    tests/collections.sh
fi
install_rust
