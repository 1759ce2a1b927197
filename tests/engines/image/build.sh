#!/bin/bash
# Makes a Postgres image for the tests from this Debian's own packages, where
# no registry of images can be reached:
#
#   tests/engines/image/build.sh [TAG]        (as root; a Docker daemon runs)
#
# Needs debootstrap. Does nothing if the image is there and was made by these
# very scripts. Leaves nothing behind but the image.
set -euo pipefail

tag=${1:-slotkeeper-test/postgres:debian}
here=$(cd "$(dirname "$0")" && pwd)
. /etc/os-release
recipe=$(cat "$here/build.sh" "$here/entrypoint.sh" | sha256sum | cut -c1-16)-$VERSION_CODENAME

made_by=$(docker image inspect --format '{{index .Config.Labels "slotkeeper.recipe"}}' "$tag" 2>/dev/null || true)
if [ "$made_by" = "$recipe" ]; then
	echo "image $tag is there already"
	exit 0
fi
old=$(docker image inspect --format '{{.Id}}' "$tag" 2>/dev/null || true)

# The mirror that this machine's own apt uses.
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' "Codename: $VERSION_CODENAME" | head -n 1)
mirror=${mirror:-http://deb.debian.org/debian}

# In memory where that can be had: dpkg waits for the disk after each file.
# Else in /var/tmp, since /tmp may be small or mounted without devices.
root=$(mktemp -d /var/tmp/slotkeeper-image.XXXXXX)
log=$root.log
clean() {
	if mountpoint -q "$root"; then umount "$root"; fi
	rm -rf --one-file-system "$root" "$log"
}
trap clean EXIT
mount -t tmpfs -o size=3g,mode=0755 slotkeeper-image "$root" || echo "building on disk, which is slower"
chmod 0755 "$root" # it becomes the image's /

echo "image $tag: Debian $VERSION_CODENAME with its postgresql from $mirror"
if ! debootstrap --variant=minbase --include=postgresql "$VERSION_CODENAME" "$root" "$mirror" >"$log" 2>&1; then
	tail -n 30 "$log" "$root/debootstrap/debootstrap.log" >&2 || true
	exit 1
fi

# The package has made a cluster, which the image's entrypoint makes anew.
rm -rf "$root"/var/lib/postgresql/* "$root"/etc/postgresql/* \
	"$root"/var/cache/apt/archives/*.deb "$root"/var/lib/apt/lists/* \
	"$root"/usr/share/doc/* "$root"/usr/share/man/* "$root"/var/log/*.log
install -m 0755 "$here/entrypoint.sh" "$root/usr/local/bin/entrypoint.sh"

tar -C "$root" --one-file-system -c . | docker import \
	--change 'ENTRYPOINT ["/usr/local/bin/entrypoint.sh"]' \
	--change 'CMD ["postgres"]' \
	--change 'ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' \
	--change 'ENV PGDATA=/var/lib/postgresql/data' \
	--change 'VOLUME /var/lib/postgresql/data' \
	--change 'EXPOSE 5432' \
	--change "LABEL slotkeeper.recipe=$recipe" \
	- "$tag" >/dev/null
if [ -n "$old" ]; then
	docker image rm "$old" >/dev/null || true # a container may still use it
fi
docker image ls "$tag"
