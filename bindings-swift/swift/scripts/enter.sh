#!/bin/sh
# enter.sh ROOT FOLDER... -- COMMAND...: runs a command inside ROOT, with these folders of the machine at the same places, in
# the first of them. Needs root. What is mounted is seen by this command alone, and gone with it.
set -eu

if [ "${KEEL_INSIDE:-}" != mounts ]; then
    exec env KEEL_INSIDE=mounts unshare --mount --propagation private "$0" "$@"
fi
root=$1
shift
# The compiler looks for its own folder there.
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
first=$1
while [ "$1" != -- ]; do
    mkdir -p "$root$1"
    mount --rbind "$1" "$root$1"
    shift
done
shift
exec chroot "$root" /usr/bin/env -i -C "$first" HOME=/root PATH=/usr/bin:/bin LANG=C.UTF-8 "$@"
