//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"

	"github.com/jackc/pgx/v5"

	"slotkeeper/tests/cluster"
)

// postgres is a temporary Postgres with the durability that a clinic runs with.
type postgres struct {
	*cluster.Cluster
	server *cluster.Server
}

// startPostgres makes and starts one. Only what a machine of any size sets is
// set; fsync and synchronous_commit keep their defaults, on.
func startPostgres(ctx context.Context) (*postgres, error) {
	programs, err := cluster.Programs(cluster.Folders, exec.LookPath)
	if err != nil {
		return nil, err
	}
	c, err := cluster.New(ctx, programs)
	if err != nil {
		return nil, err
	}
	server, err := c.Start(ctx, "max_connections=300", "shared_buffers=512MB", "max_wal_size=8GB", "log_min_messages=fatal")
	if err != nil {
		return nil, errors.Join(err, c.Remove())
	}
	return &postgres{c, server}, nil
}

func (c *postgres) stop() {
	c.server.Stop()
	_ = c.Remove() // a folder for temporary files has it
}

// create makes an empty database and runs the statements in it.
func (c *postgres) create(ctx context.Context, database string, statements ...string) error {
	if err := c.exec(ctx, "postgres", "CREATE DATABASE "+database); err != nil {
		return err
	}
	return c.exec(ctx, database, statements...)
}

func (c *postgres) exec(ctx context.Context, database string, statements ...string) error {
	conn, err := pgx.Connect(ctx, c.DSN(database))
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	for _, s := range statements {
		if _, err := conn.Exec(ctx, s); err != nil {
			return fmt.Errorf("%.40s: %w", s, err)
		}
	}
	return nil
}

func (c *postgres) count(ctx context.Context, database, query string) (n int, err error) {
	conn, err := pgx.Connect(ctx, c.DSN(database))
	if err != nil {
		return 0, err
	}
	defer conn.Close(ctx)
	return n, conn.QueryRow(ctx, query).Scan(&n)
}
