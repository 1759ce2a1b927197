// Command slotkeeper keeps the capacity of appointment slots: an HTTP service
// over Postgres, SQL Server or SQLite, and the tools around it.
//
// This package parses the command line, opens the database, serves and shuts
// down. What the product does stands in app and below.
package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"github.com/alecthomas/kong"

	"slotkeeper/adapters"
)

// cli is the command line; every flag is an environment variable as well.
type cli struct {
	Serve   serveCmd   `cmd:"" help:"Serve the HTTP API."`
	Migrate migrateCmd `cmd:"" help:"Move the database's schema forward or back."`
	Import  importCmd  `cmd:"" help:"Take slots and reservations over from another system."`
	Check   checkCmd   `cmd:"" help:"Count again from the rows; exit 1 if a slot is broken."`
	Guard   guardCmd   `cmd:"" help:"Keep capacity or ranges in an older program's tables on SQL Server by triggers: prints the script."`
	Version versionCmd `cmd:"" help:"Print the version."`
}

const description = `Keeps the capacity of appointment slots.

Each flag may be set by the environment variable named beside it. Exit codes:
0 all is well; 1 something was found or failed on the way; 2 the command was
refused before it began, and says what to do.`

func main() {
	os.Exit(run(os.Args[1:], os.Environ(), os.Stdout, os.Stderr))
}

// program is what every command gets.
type program struct {
	stdout, stderr io.Writer
	terminal       *os.File // stderr where a person watches it, else nil
}

// run runs one command and returns its exit code. Whatever is printed goes
// through a filter that takes out the secrets of the DSN, whoever wrote it.
func run(args, env []string, stdout, stderr *os.File) int {
	filter := adapters.NewScrubber(mayHoldSecrets(args, env)...)
	p := &program{filtered{stdout, filter}, filtered{stderr, filter}, terminalOf(stderr)}
	parser, err := kong.New(&cli{}, kong.Name("slotkeeper"), kong.Description(description),
		kong.DefaultEnvars("SLOTKEEPER"), kong.Writers(p.stdout, p.stderr),
		kong.WithHyphenPrefixedParameters(true)) // so that -5s reaches the check that explains it
	if err != nil {
		return p.fail(fmt.Errorf("the command line is defined wrongly: %w", err))
	}
	command, err := parser.Parse(args)
	if err != nil {
		return p.fail(fmt.Errorf("%w: see slotkeeper --help", err))
	}
	return p.fail(command.Run(p))
}

// fail reports an error and returns the exit code.
func (p *program) fail(err error) int {
	if err == nil {
		return 0
	}
	var found foundError
	if errors.As(err, &found) && found.error == nil {
		return 1
	}
	text := strings.ReplaceAll(err.Error(), "\n\t", " ") // as drivers list what they tried
	for line := range strings.Lines(text) {
		fmt.Fprintln(p.stderr, "slotkeeper:", strings.TrimSuffix(line, "\n"))
	}
	if errors.As(err, &found) {
		return 1
	}
	return 2
}

// warnings logs what a command that is no service has to say besides.
func (p *program) warnings() *slog.Logger {
	return slog.New(slog.NewTextHandler(p.stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

// foundError ends a command with exit code 1: it ran, and found something or
// failed on the way. A nil error inside was reported already.
type foundError struct{ error }

// mayHoldSecrets returns every text of the command line and the environment
// from which a secret could come.
func mayHoldSecrets(args, env []string) []string {
	var texts []string
	for _, arg := range args {
		if flag, value, ok := strings.Cut(arg, "="); ok && strings.HasPrefix(flag, "-") {
			arg = value
		}
		texts = append(texts, arg)
	}
	for _, pair := range env {
		if name, value, _ := strings.Cut(pair, "="); strings.HasPrefix(name, "SLOTKEEPER_") {
			texts = append(texts, value)
		}
	}
	return texts
}

// filtered is a writer that takes secrets out of what passes.
type filtered struct {
	w      io.Writer
	filter adapters.Scrubber
}

func (f filtered) Write(b []byte) (int, error) {
	if _, err := io.WriteString(f.w, f.filter.Text(string(b))); err != nil {
		return 0, err
	}
	return len(b), nil
}

// terminalOf returns f where it is a terminal.
func terminalOf(f *os.File) *os.File {
	if info, err := f.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return nil
	}
	return f
}
