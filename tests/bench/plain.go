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

// book reserves or says that the slot is full.
type book func(ctx context.Context, slot int, user string) (ok bool, err error)

func servePlain(b book) (addr string, stop func(), err error) {
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
		ok, err := b(c.Context(), slot, request.UserID)
		switch {
		case err != nil:
			return err
		case !ok:
			return c.Status(fiber.StatusConflict).JSON(fiber.Map{"code": "slot-full"})
		}
		return c.Status(fiber.StatusCreated).JSON(fiber.Map{"slot_id": slot, "user_id": request.UserID, "status": "confirmed"})
	})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	go func() { _ = server.Listener(listener) }()
	return listener.Addr().String(), func() { _ = server.Shutdown() }, nil
}

func bookPostgres(pool *pgxpool.Pool) book {
	return func(ctx context.Context, slot int, user string) (ok bool, err error) {
		err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
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
}

// leanSQLite is leanSchema for SQLite.
const leanSQLite = `
CREATE TABLE slots (id INTEGER PRIMARY KEY, capacity INTEGER NOT NULL, reserved INTEGER NOT NULL DEFAULT 0,
    CHECK (reserved BETWEEN 0 AND capacity));
CREATE TABLE reservations (slot_id INTEGER NOT NULL REFERENCES slots (id), user_id TEXT NOT NULL,
    created_at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP, PRIMARY KEY (slot_id, user_id)) WITHOUT ROWID;
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
INSERT INTO slots SELECT i, 1000000, 0 FROM n;`

func openLeanSQLite(path string) (*sql.DB, error) {
	db, err := sql.Open("sqlite", "file:"+path+"?_txlock=immediate&_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=foreign_keys(1)")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1) // more only fight for the one write lock
	_, err = db.Exec(leanSQLite)
	return db, err
}

func bookSQLite(db *sql.DB) book {
	return func(ctx context.Context, slot int, user string) (ok bool, err error) {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return false, err
		}
		defer func() { _ = tx.Rollback() }()
		if err := tx.QueryRowContext(ctx, "SELECT reserved < capacity FROM slots WHERE id = ?", slot).Scan(&ok); err != nil || !ok {
			return false, err
		}
		if _, err := tx.ExecContext(ctx, "INSERT INTO reservations (slot_id, user_id) VALUES (?, ?)", slot, user); err != nil {
			return false, err
		}
		if _, err := tx.ExecContext(ctx, "UPDATE slots SET reserved = reserved + 1 WHERE id = ?", slot); err != nil {
			return false, err
		}
		return true, tx.Commit()
	}
}
