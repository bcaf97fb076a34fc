# Shared by every script: sourced, never run. Sets ROOT and changes nothing else until a function is called.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

say() { printf '%s\n' "$*"; }

# One line that says what is missing and how to get it, then the end.
fail() {
    printf 'error: %s\n' "$*" >&2
    exit 1
}

# The comment at the head of the calling script is its help.
show_help() {
    awk 'NR == 1 { next } /^#/ { sub(/^# ?/, ""); print; next } { exit }' "$0"
}

# `elapsed START` with START taken from $SECONDS.
elapsed() {
    local seconds=$((SECONDS - $1))
    if ((seconds >= 60)); then printf '%dm%02ds' $((seconds / 60)) $((seconds % 60)); else printf '%ds' "$seconds"; fi
}

# Installs the named Debian packages that are not there yet; with all of them there it needs no network.
ensure_packages() {
    local package missing=()
    if ! command -v dpkg-query >/dev/null 2>&1; then
        [[ -e /usr/include/openssl/ssl.h && -e /usr/include/zlib.h ]] ||
            fail "the OpenSSL 3 and zlib headers are missing; install your distribution's openssl and zlib development packages"
        return 0
    fi
    for package in "$@"; do
        dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
    done
    ((${#missing[@]} == 0)) && return 0

    local as_root=()
    if ((EUID != 0)); then
        command -v sudo >/dev/null 2>&1 || fail "packages are missing; as root: apt-get install ${missing[*]}"
        as_root=(sudo)
    fi
    say "installing ${missing[*]}"
    local log
    log=$(mktemp)
    local install=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive
        apt-get install -y -q --no-install-recommends "${missing[@]}")
    # The package lists may be absent or old: one update, then a second and last try.
    if ! "${install[@]}" >"$log" 2>&1 </dev/null; then
        "${as_root[@]}" apt-get update -q >>"$log" 2>&1 </dev/null || true
        if ! "${install[@]}" >>"$log" 2>&1 </dev/null; then
            tail -n 5 "$log" >&2
            rm -f "$log"
            fail "could not install ${missing[*]}; as root: apt-get update && apt-get install ${missing[*]}"
        fi
    fi
    rm -f "$log"
}

ensure_build_packages() { ensure_packages libssl-dev zlib1g-dev; }

# Swift 6.3 or newer, from PATH or /opt/swift.
ensure_swift() {
    local hint="get it from https://www.swift.org/install/linux and put it on PATH"
    if ! command -v swift >/dev/null 2>&1; then
        [[ -x /opt/swift/usr/bin/swift ]] || fail "Swift 6.3 or newer is missing; $hint"
        export PATH="/opt/swift/usr/bin:$PATH"
    fi
    local version major minor
    version=$(swift --version 2>/dev/null | sed -n 's/.*Swift version \([0-9][0-9]*\.[0-9][0-9]*\).*/\1/p' | head -n 1)
    major=${version%%.*} minor=${version#*.}
    if [[ -z $version ]] || ((major < 6 || (major == 6 && minor < 3))); then
        fail "Swift ${version:-of an unknown version} is too old, 6.3 or newer is needed; $hint"
    fi
}

# `ensure_venv DIRECTORY REQUIREMENTS [PYTHON]`: a virtual environment holding exactly what the requirements
# file pins. It is made once, and again only when that file changes.
ensure_venv() {
    local directory=$1 requirements=$2 python=${3:-python3}
    if [[ -x $directory/bin/python ]] && cmp -s "$requirements" "$directory/requirements.installed"; then
        return 0
    fi
    command -v "$python" >/dev/null 2>&1 || fail "$python is missing; as root: apt-get install python3 python3-venv"
    rm -rf "$directory"
    mkdir -p "$(dirname "$directory")"
    local log="$directory.log"
    # Debian keeps ensurepip in a package of its own.
    if ! "$python" -m venv "$directory" >"$log" 2>&1; then
        ensure_packages python3-venv >&2
        "$python" -m venv "$directory" >"$log" 2>&1 || fail "$python cannot make a virtual environment, see $log"
    fi
    "$directory/bin/python" -m pip install -q --disable-pip-version-check -r "$requirements" >>"$log" 2>&1 </dev/null || {
        tail -n 3 "$log" >&2
        fail "could not install $(basename "$requirements") with pip; it needs PyPI once, see $log"
    }
    cp "$requirements" "$directory/requirements.installed"
}
