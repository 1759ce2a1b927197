#!/bin/bash
# Sees that a C compiler (for the race detector) and Postgres' server programs
# are here. Installs what is missing where it may: as root, on a Debian.
set -euo pipefail

missing=()
command -v "${CC:-gcc}" >/dev/null || missing+=(gcc libc6-dev)
if ! compgen -G '/usr/lib/postgresql/*/bin/postgres' >/dev/null && ! command -v postgres >/dev/null; then
	# Who names a server has no need of programs.
	[ -n "${SLOTKEEPER_TEST_POSTGRES:-}" ] || missing+=(postgresql)
fi
[ ${#missing[@]} -gt 0 ] || exit 0

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
	echo "installing ${missing[*]}"
	apt-get update -qq
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
	exit 0
fi

echo "missing for the tests: ${missing[*]} (see docs/testing.md)" >&2
case " ${missing[*]} " in
*' gcc '*) echo "without a C compiler: make test TEST_FLAGS=" >&2 && exit 1 ;;
esac
# Without Postgres' programs its tests use a container, or skip and say so.
