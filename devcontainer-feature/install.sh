#!/bin/sh
# Installs snapd in a dev container, and connects the agents of its user. Dev container tools run this as root.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
user=${_REMOTE_USER:-root}
agents=${AGENTS:-all}
version=$(sed -n 's/^  "version": "\(.*\)",$/\1/p' "$here/devcontainer-feature.json")
executable=$here/snapd-$version-linux-$(uname -m)
# the name of a package alone could be that of a stranger's
wheel=$here/snapd-$version-py3-none-any.whl

runs() { # whether the executable works with the C library of this image
    [ -x "$executable" ] || return 1
    unpacked=$(mktemp -d)
    XDG_DATA_HOME=$unpacked "$executable" --version >/dev/null 2>&1 && code=0 || code=$?
    rm -rf "$unpacked"
    return "$code"
}

case $agents in
    *[!a-z\ ]*)
        echo "snapd: the option \"agents\" has other characters than those of names: $agents" >&2
        echo "hint: it is \"all\", \"none\", or names separated by spaces, such as \"claude codex\"" >&2
        exit 1
        ;;
esac
mkdir -p /usr/local/bin /usr/local/share/snapd
if runs; then
    install -m 755 "$executable" /usr/local/bin/snapd
elif python3 -c 'import ensurepip, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    python3 -m venv /usr/local/lib/snapd
    /usr/local/lib/snapd/bin/python -m pip install --quiet --disable-pip-version-check "$wheel"
    ln -sf /usr/local/lib/snapd/bin/snapd /usr/local/bin/snapd
else
    echo "snapd: this image cannot run the executable for Linux ($(uname -m), glibc) and has no Python 3.11 with venv" >&2
    echo "hint: add the feature ghcr.io/devcontainers/features/python to devcontainer.json, or choose another image" >&2
    exit 1
fi

# it runs once more when the container has been created: agents that come with later features are there by then
cat >/usr/local/share/snapd/connect-agents <<END
#!/bin/sh
# Connects agents to snapd, for the user who runs this.
case '$agents' in
    none) ;;
    all) exec /usr/local/bin/snapd agent install --all ;;
    *) exec /usr/local/bin/snapd agent install $agents ;;
esac
END
chmod 755 /usr/local/share/snapd/connect-agents
if [ "$user" = root ]; then
    /usr/local/share/snapd/connect-agents
else
    su "$user" -c /usr/local/share/snapd/connect-agents
fi
