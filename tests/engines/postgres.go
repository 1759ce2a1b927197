package engines

import (
	"context"
	"errors"
	"net/url"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	postgresVariable      = "SLOTKEEPER_TEST_POSTGRES"
	postgresImageVariable = "SLOTKEEPER_TEST_POSTGRES_IMAGE"
	postgresImage         = "postgres:17"
)

// postgresSettings are those of a server that lives as long as the tests.
// Without fsync a commit is lost only if the whole machine loses power, which
// no test does to it: a killed backend or server process loses nothing, since
// what it wrote is in the system's cache. It saves most of the time of a
// suite that makes hundreds of databases. 300 connections are enough for the
// widest race of the suite beside the pools of tests that run in parallel.
func postgresSettings() []string {
	return []string{"fsync=off", "max_connections=300"}
}

func postgresKind(env environment) kind {
	k := kind{
		name:  postgresName,
		probe: probePostgres, create: createPostgres, drop: dropPostgres,
		in: inPostgres,
	}
	k.ways = []way{
		fromEnvironment(env, postgresVariable, []string{"postgres", "postgresql"}, k),
		fromContainer(env, postgresContainer(env), k),
		fromPrograms(env, k),
	}
	return k
}

func postgresContainer(env environment) container {
	password := randomHex(16)
	command := []string{"postgres"}
	for _, setting := range postgresSettings() {
		command = append(command, "-c", setting)
	}
	return container{
		engine:   postgresName,
		variable: postgresImageVariable,
		image:    env.valueOr(postgresImageVariable, postgresImage),
		port:     "5432/tcp",
		env:      []string{"POSTGRES_USER=postgres", "POSTGRES_DB=postgres", "POSTGRES_PASSWORD=" + password},
		command:  command,
		wait:     time.Minute,
		dsn:      func(address string) string { return postgresDSN(address, password) },
	}
}

// postgresDSN is the login of a container that was started for the tests.
func postgresDSN(address, password string) string {
	return (&url.URL{
		Scheme:   "postgres",
		User:     url.UserPassword("postgres", password),
		Host:     address,
		Path:     "/postgres",
		RawQuery: "sslmode=disable",
	}).String()
}

func probePostgres(ctx context.Context, dsn string) (version string, err error) {
	err = withPostgres(ctx, dsn, func(conn *pgx.Conn) error {
		return conn.QueryRow(ctx, "SHOW server_version").Scan(&version)
	})
	return version, err
}

// createPostgres copies template0, since template1 may hold what the owner of a
// shared server likes each new database to have.
func createPostgres(ctx context.Context, dsn, database string) error {
	return withPostgres(ctx, dsn, func(conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, "CREATE DATABASE "+pgx.Identifier{database}.Sanitize()+" TEMPLATE template0")
		return err
	})
}

// dropPostgres ends connections that the test left open.
func dropPostgres(ctx context.Context, dsn, database string) error {
	return withPostgres(ctx, dsn, func(conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, "DROP DATABASE "+pgx.Identifier{database}.Sanitize()+" WITH (FORCE)")
		return err
	})
}

// inPostgres expects a DSN that url.Parse takes, as fromEnvironment makes sure.
// On a machine with other work hundreds of logins at once take a while, and the
// program gives each two seconds unless the DSN says otherwise.
func inPostgres(dsn, database string) string {
	address, err := url.Parse(dsn)
	if err != nil {
		return dsn
	}
	address.Path = "/" + database
	if settings := address.Query(); !settings.Has("connect_timeout") {
		settings.Set("connect_timeout", "20")
		address.RawQuery = settings.Encode()
	}
	return address.String()
}

func withPostgres(ctx context.Context, dsn string, do func(*pgx.Conn) error) (err error) {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }()
	return do(conn)
}
