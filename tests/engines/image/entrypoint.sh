#!/bin/sh
# Starts Postgres as the official image does, as far as the tests need it:
# POSTGRES_PASSWORD (must be set), POSTGRES_USER and POSTGRES_DB are honoured,
# and arguments after "postgres" go to the server. TCP logins are possible only
# once everything is made.
set -eu

PATH=$(ls -d /usr/lib/postgresql/*/bin | sort -V | tail -n 1):$PATH
export PATH
user=${POSTGRES_USER:-postgres}
database=${POSTGRES_DB:-$user}

if [ "${1:-}" != postgres ]; then
	exec "$@"
fi

# The server refuses to run as root.
if [ "$(id -u)" = 0 ]; then
	mkdir -p "$PGDATA" /run/postgresql
	chown -R postgres:postgres "$PGDATA" /run/postgresql
	chmod 700 "$PGDATA"
	exec setpriv --reuid=postgres --regid=postgres --init-groups "$0" "$@"
fi

if [ ! -s "$PGDATA/PG_VERSION" ]; then
	secret=$(mktemp)
	printf '%s\n' "${POSTGRES_PASSWORD:?POSTGRES_PASSWORD is not set}" >"$secret"
	initdb --pgdata="$PGDATA" --username="$user" --pwfile="$secret" \
		--auth-local=trust --auth-host=scram-sha-256 \
		--encoding=UTF8 --locale=C.UTF-8 --no-sync
	rm -f "$secret"
	echo 'host all all all scram-sha-256' >>"$PGDATA/pg_hba.conf"
	echo "listen_addresses = '*'" >>"$PGDATA/postgresql.conf"
	if [ "$database" != postgres ]; then
		# One line is one statement in single-user mode.
		printf 'CREATE DATABASE "%s"\n' "$(printf %s "$database" | sed 's/"/""/g')" |
			postgres --single -D "$PGDATA" postgres >/dev/null
	fi
fi

exec "$@"
