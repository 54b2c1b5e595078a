#!/bin/sh
# root.sh DIR: makes a Debian root with a Swift compiler in DIR, once. Needs root, apt and mmdebstrap (installed when absent).
# Nothing happens when DIR already holds what is wanted. A build that was cut short leaves only DIR.part.
set -eu

dir=$1
suite=trixie
packages=swiftlang,libc6-dev,libstdc++-14-dev
# What a compile and a test do not need: half of the disk space. One a line, below /usr/libexec/swift or /usr/lib/swift.
drop='swift_static lldb-server sourcekit-lsp clangd docc'
wanted="1 $suite $packages $drop"

mkdir -p "$(dirname "$dir")"
exec 9>"$dir.lock"
flock 9
if [ -f "$dir/.keel" ] && [ "$(cat "$dir/.keel")" = "$wanted" ]; then
    exit 0
fi

if ! command -v mmdebstrap >/dev/null; then
    apt-get update
    apt-get install -y --no-install-recommends mmdebstrap
fi
# The mirror is the one that this machine installs from.
. /etc/os-release
mirror() {
    apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' "Codename: $VERSION_CODENAME" |
        sort -u | head -n 1
}
url=$(mirror)
if [ -z "$url" ]; then
    apt-get update
    url=$(mirror)
fi
if [ -z "$url" ]; then
    echo "apt knows no Debian mirror on this machine" >&2
    exit 1
fi

rm -rf "$dir.part"
mmdebstrap --mode=root --variant=minbase --include="$packages" \
    --dpkgopt=force-unsafe-io \
    --dpkgopt='path-exclude=/usr/share/man/*' \
    --dpkgopt='path-exclude=/usr/share/doc/*' \
    --dpkgopt='path-exclude=/usr/share/locale/*' \
    "$suite" "$dir.part" "$url"
for name in $drop; do
    find "$dir.part/usr" -depth -name "$name" -exec rm -rf {} +
done
printf '%s\n' "$wanted" >"$dir.part/.keel"
rm -rf "$dir"
mv "$dir.part" "$dir"
