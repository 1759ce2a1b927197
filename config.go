package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"time"

	"slotkeeper/adapters"
	"slotkeeper/app"
)

// reachTimeout bounds how long a command waits for the database to answer at
// its start.
const reachTimeout = 10 * time.Second

// databaseFlags say which database.
type databaseFlags struct {
	DB string `name:"db" default:"sqlite:slotkeeper.db" placeholder:"DSN" help:"Database: sqlite:PATH, postgres://user:password@host/database or sqlserver://user:password@host?database=name (default sqlite:slotkeeper.db)."`
}

// storeFlags say how to work with it.
type storeFlags struct {
	databaseFlags
	Strategy    string        `help:"How Postgres keeps capacity: for-update (default) or serializable."`
	Ranges      string        `help:"How SQL Server keeps ranges: trigger (default), or nights for whole days."`
	PoolSize    int           `default:"0" help:"Connections to the database; 0 is 16, of SQLite 4 that read."`
	CallTimeout time.Duration `default:"5s" help:"Bound of the database work of one request."`

	AllowUnguardedLocks bool `help:"Go on with a SQL Server that ignores lock hints, on which simultaneous writers can overbook: for trying things out, never for patients."`
}

// servedFlags are storeFlags of the commands that can do with an older program's
// tables.
type servedFlags struct {
	storeFlags
	ServeTables string `placeholder:"FILE" help:"Work on an older program's tables on SQL Server, which the guard is on: a JSON file of their names, see docs/sqlserver-dba.md. Nothing is migrated."`

	tables *adapters.Tables
}

func (f servedFlags) options(log *slog.Logger) adapters.Options {
	o := f.storeFlags.options(log)
	o.Tables = f.tables
	return o
}

// validate also reads the file of names, for what follows.
func (f *servedFlags) validate() (err error) {
	if f.ServeTables != "" {
		if f.tables, err = adapters.ReadTables(f.ServeTables); err != nil {
			return err
		}
	}
	return errors.Join(positive("--call-timeout", f.CallTimeout), adapters.Validate(f.DB, f.options(nil)))
}

func (f servedFlags) open(ctx context.Context, log *slog.Logger, migrate bool) (app.Store, error) {
	if f.tables == nil {
		return f.storeFlags.open(ctx, log, migrate)
	}
	ctx, cancel := context.WithTimeout(ctx, reachTimeout)
	defer cancel()
	return adapters.Open(ctx, f.DB, f.options(log))
}

// migrateFlag is for the commands that need the tables.
type migrateFlag struct {
	Migrate bool `default:"true" negatable:"" help:"Apply pending migrations first."`
}

func (f storeFlags) options(log *slog.Logger) adapters.Options {
	return adapters.Options{Strategy: f.Strategy, Ranges: f.Ranges, PoolSize: f.PoolSize, CallTimeout: f.CallTimeout,
		Logger: log, AllowUnguardedLocks: f.AllowUnguardedLocks}
}

func (f storeFlags) validate() error {
	if err := positive("--call-timeout", f.CallTimeout); err != nil {
		return err
	}
	return adapters.Validate(f.DB, f.options(nil))
}

// appConfig derives the bounds of the service from the pool.
func (f storeFlags) appConfig(combine bool) app.Config {
	writers, perSlot := adapters.Bounds(f.DB, f.PoolSize, combine)
	return app.Config{CallTimeout: f.CallTimeout, Writers: writers, PerSlot: perSlot, Combine: combine}
}

// open opens the database with a schema that is current: it migrates, or
// refuses with a sentence where it must not.
func (f storeFlags) open(ctx context.Context, log *slog.Logger, migrate bool) (app.Store, error) {
	short, cancel := context.WithTimeout(ctx, reachTimeout)
	defer cancel()
	pending, err := adapters.Pending(short, f.DB)
	if err != nil {
		return nil, err
	}
	if pending && !migrate {
		return nil, fmt.Errorf("%s lacks migrations: run slotkeeper migrate up", adapters.Redact(f.DB))
	}
	if pending {
		done, err := adapters.Up(ctx, f.DB)
		if err != nil {
			return nil, err
		}
		for _, s := range done {
			log.Info("migrated", "step", s.Name)
		}
	}
	short, cancel = context.WithTimeout(ctx, reachTimeout)
	defer cancel()
	return adapters.Open(short, f.DB, f.options(log))
}

func positive(flag string, d time.Duration) error {
	if d <= 0 {
		return fmt.Errorf("%s is %v: use a duration above 0, such as 10s", flag, d)
	}
	return nil
}

func notNegative(flag string, d time.Duration) error {
	if d < 0 {
		return fmt.Errorf("%s is %v: use a duration such as 1m, or 0 to switch it off", flag, d)
	}
	return nil
}

func validateListen(address string) error {
	_, port, err := net.SplitHostPort(address)
	if err == nil {
		_, err = net.LookupPort("tcp", port)
	}
	if err != nil {
		return fmt.Errorf("--listen is %q: use host:port, such as 127.0.0.1:8080", address)
	}
	return nil
}

func validatePublicURL(text string) error {
	if text == "" {
		return nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" ||
		u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return fmt.Errorf("--public-url is %q: use an address such as https://slots.example.org", adapters.Redact(text))
	}
	return nil
}

// logFlags say what is logged to stderr.
type logFlags struct {
	LogLevel  string `default:"info" help:"Log from this level on: debug, info, warn or error."`
	LogFormat string `default:"text" help:"Write logs as text or json."`
}

func (f logFlags) logger(w io.Writer) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(f.LogLevel)); err != nil || strings.ContainsAny(f.LogLevel, "+-") {
		return nil, fmt.Errorf("--log-level is %q: use debug, info, warn or error", f.LogLevel)
	}
	o := &slog.HandlerOptions{Level: level}
	switch f.LogFormat {
	case "text":
		return slog.New(slog.NewTextHandler(w, o)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(w, o)), nil
	}
	return nil, fmt.Errorf("--log-format is %q: use text or json", f.LogFormat)
}
