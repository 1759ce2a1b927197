//go:build linux

package main

import (
	"context"
	"database/sql"
	"net"

	"github.com/gofiber/fiber/v2"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	_ "modernc.org/sqlite" // the same driver as the product's
)

// The plain handler: what a careful programmer writes first, on the same
// stack. It is right; it runs one transaction a request.

// plain is what the plain handler does in a database. Each is one transaction;
// ok says that there was a place to take, or one to give back.
type plain interface {
	book(ctx context.Context, slot int, user string) (ok bool, err error)
	cancel(ctx context.Context, slot int, user string) (ok bool, err error)
	free(ctx context.Context, slot int) (int, error)
}

func servePlain(p plain) (addr string, stop func(), err error) {
	server := fiber.New(fiber.Config{DisableStartupMessage: true})
	server.Post("/slots/:id/reservations", func(c *fiber.Ctx) error {
		slot, err := c.ParamsInt("id")
		if err != nil {
			return fiber.ErrNotFound
		}
		var request struct {
			UserID string `json:"user_id"`
		}
		if err := c.BodyParser(&request); err != nil || request.UserID == "" {
			return fiber.ErrBadRequest
		}
		ok, err := p.book(c.Context(), slot, request.UserID)
		switch {
		case err != nil:
			return err
		case !ok:
			return c.Status(fiber.StatusConflict).JSON(fiber.Map{"code": "slot-full"})
		}
		return c.Status(fiber.StatusCreated).JSON(fiber.Map{"slot_id": slot, "user_id": request.UserID, "status": "confirmed"})
	})
	server.Delete("/slots/:id/reservations/:user", func(c *fiber.Ctx) error {
		slot, err := c.ParamsInt("id")
		if err != nil {
			return fiber.ErrNotFound
		}
		ok, err := p.cancel(c.Context(), slot, c.Params("user"))
		switch {
		case err != nil:
			return err
		case !ok:
			return fiber.ErrNotFound
		}
		return c.SendStatus(fiber.StatusNoContent)
	})
	server.Get("/slots/:id", func(c *fiber.Ctx) error {
		slot, err := c.ParamsInt("id")
		if err != nil {
			return fiber.ErrNotFound
		}
		free, err := p.free(c.Context(), slot)
		if err != nil {
			return err
		}
		return c.JSON(fiber.Map{"slot_id": slot, "available": free})
	})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	go func() { _ = server.Listener(listener) }()
	return listener.Addr().String(), func() { _ = server.Shutdown() }, nil
}

type plainPostgres struct{ pool *pgxpool.Pool }

func (p plainPostgres) book(ctx context.Context, slot int, user string) (ok bool, err error) {
	err = pgx.BeginFunc(ctx, p.pool, func(tx pgx.Tx) error {
		if err := tx.QueryRow(ctx, "SELECT reserved < capacity FROM slots WHERE id = $1 FOR NO KEY UPDATE", slot).Scan(&ok); err != nil || !ok {
			return err
		}
		if _, err := tx.Exec(ctx, "INSERT INTO reservations (slot_id, user_id) VALUES ($1, $2)", slot, user); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, "UPDATE slots SET reserved = reserved + 1 WHERE id = $1", slot)
		return err
	})
	return ok, err
}

func (p plainPostgres) cancel(ctx context.Context, slot int, user string) (ok bool, err error) {
	err = pgx.BeginFunc(ctx, p.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SELECT FROM slots WHERE id = $1 FOR NO KEY UPDATE", slot); err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, "DELETE FROM reservations WHERE slot_id = $1 AND user_id = $2", slot, user)
		if ok = err == nil && tag.RowsAffected() == 1; !ok {
			return err
		}
		_, err = tx.Exec(ctx, "UPDATE slots SET reserved = reserved - 1 WHERE id = $1", slot)
		return err
	})
	return ok, err
}

func (p plainPostgres) free(ctx context.Context, slot int) (n int, err error) {
	return n, p.pool.QueryRow(ctx, "SELECT capacity - reserved FROM slots WHERE id = $1", slot).Scan(&n)
}

// leanSQLite is leanSchema for SQLite.
const leanSQLite = `
CREATE TABLE slots (id INTEGER PRIMARY KEY, capacity INTEGER NOT NULL, reserved INTEGER NOT NULL DEFAULT 0,
    CHECK (reserved BETWEEN 0 AND capacity));
CREATE TABLE reservations (slot_id INTEGER NOT NULL REFERENCES slots (id), user_id TEXT NOT NULL,
    created_at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP, PRIMARY KEY (slot_id, user_id)) WITHOUT ROWID;
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
INSERT INTO slots SELECT i, 1000000, 0 FROM n;`

type plainSQLite struct{ db *sql.DB }

func openLeanSQLite(path string) (*sql.DB, error) {
	db, err := sql.Open("sqlite", "file:"+path+"?_txlock=immediate&_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=foreign_keys(1)")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1) // more only fight for the one write lock
	_, err = db.Exec(leanSQLite)
	return db, err
}

func (p plainSQLite) book(ctx context.Context, slot int, user string) (ok bool, err error) {
	err = p.tx(ctx, func(tx *sql.Tx) error {
		if err := tx.QueryRowContext(ctx, "SELECT reserved < capacity FROM slots WHERE id = ?", slot).Scan(&ok); err != nil || !ok {
			return err
		}
		if _, err := tx.ExecContext(ctx, "INSERT INTO reservations (slot_id, user_id) VALUES (?, ?)", slot, user); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, "UPDATE slots SET reserved = reserved + 1 WHERE id = ?", slot)
		return err
	})
	return ok, err
}

func (p plainSQLite) cancel(ctx context.Context, slot int, user string) (ok bool, err error) {
	err = p.tx(ctx, func(tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx, "DELETE FROM reservations WHERE slot_id = ? AND user_id = ?", slot, user)
		if err != nil {
			return err
		}
		n, err := result.RowsAffected()
		if ok = n == 1; err != nil || !ok {
			return err
		}
		_, err = tx.ExecContext(ctx, "UPDATE slots SET reserved = reserved - 1 WHERE id = ?", slot)
		return err
	})
	return ok, err
}

func (p plainSQLite) free(ctx context.Context, slot int) (n int, err error) {
	return n, p.db.QueryRowContext(ctx, "SELECT capacity - reserved FROM slots WHERE id = ?", slot).Scan(&n)
}

func (p plainSQLite) tx(ctx context.Context, work func(*sql.Tx) error) error {
	tx, err := p.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	if err := work(tx); err != nil {
		return err
	}
	return tx.Commit()
}
