package engines

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"time"

	_ "github.com/microsoft/go-mssqldb" // the driver "sqlserver"
)

const (
	sqlserverVariable      = "SLOTKEEPER_TEST_SQLSERVER"
	sqlserverImageVariable = "SLOTKEEPER_TEST_SQLSERVER_IMAGE"
	sqlserverImage         = "mcr.microsoft.com/mssql/server:2022-latest"
)

func sqlserverKind(env environment) kind {
	k := kind{
		name:  sqlserverName,
		probe: probeSQLServer, create: createSQLServer, drop: dropSQLServer,
		in: inSQLServer,
	}
	k.ways = []way{
		fromEnvironment(env, sqlserverVariable, []string{"sqlserver"}, k),
		fromContainer(env, sqlserverContainer(env), k),
	}
	return k
}

func sqlserverContainer(env environment) container {
	// The server refuses a password that lacks three of: capital and small
	// letters, digits, others.
	password := "Aa1-" + randomHex(16)
	return container{
		engine:   sqlserverName,
		variable: sqlserverImageVariable,
		image:    env.valueOr(sqlserverImageVariable, sqlserverImage),
		port:     "1433/tcp",
		// Without the limit (MB) each server takes most of the machine's memory,
		// and each test binary has a server.
		env:  []string{"ACCEPT_EULA=Y", "MSSQL_SA_PASSWORD=" + password, "MSSQL_MEMORY_LIMIT_MB=2048"},
		wait: 2 * time.Minute, // it upgrades its system databases first
		dsn:  func(address string) string { return sqlserverDSN(address, password) },
	}
}

// sqlserverDSN is the login of a server that was started for the tests. It
// turns encryption off: the connection stays on loopback, and Go refuses some
// certificates that the images sign themselves (a negative serial number).
func sqlserverDSN(address, password string) string {
	return (&url.URL{
		Scheme:   "sqlserver",
		User:     url.UserPassword("sa", password),
		Host:     address,
		RawQuery: "database=master&encrypt=disable",
	}).String()
}

func probeSQLServer(ctx context.Context, dsn string) (version string, err error) {
	err = withSQLServer(dsn, func(db *sql.DB) error {
		const question = "SELECT CAST(SERVERPROPERTY('ProductVersion') AS NVARCHAR(128))"
		return db.QueryRowContext(ctx, question).Scan(&version)
	})
	return version, err
}

// createSQLServer and dropSQLServer say the plain statement and no more, since
// compatible servers know no options. So READ_COMMITTED_SNAPSHOT has the
// server's default, and a test that wants it otherwise sets it.
func createSQLServer(ctx context.Context, dsn, database string) error {
	return withSQLServer(dsn, func(db *sql.DB) error {
		_, err := db.ExecContext(ctx, "CREATE DATABASE "+database)
		return err
	})
}

// dropSQLServer tries more than once: the server may still be ending the
// connections that the test has just closed, and drops no database in use.
func dropSQLServer(ctx context.Context, dsn, database string) error {
	return withSQLServer(dsn, func(db *sql.DB) (err error) {
		for range 5 {
			if _, err = db.ExecContext(ctx, "DROP DATABASE "+database); err == nil {
				return nil
			}
			select {
			case <-ctx.Done():
				return err
			case <-time.After(100 * time.Millisecond):
			}
		}
		return err
	})
}

// inSQLServer expects a DSN that url.Parse takes, as fromEnvironment makes sure.
func inSQLServer(dsn, database string) string {
	address, err := url.Parse(dsn)
	if err != nil {
		return dsn
	}
	query := address.Query()
	query.Set("database", database)
	address.RawQuery = query.Encode()
	return address.String()
}

// withSQLServer opens a pool of one connection and closes it afterwards, so
// that nothing of ours stays connected while a test runs.
func withSQLServer(dsn string, do func(*sql.DB) error) (err error) {
	db, err := sql.Open("sqlserver", dsn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	db.SetMaxOpenConns(1)
	return do(db)
}
