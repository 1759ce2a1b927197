// Package usage holds what each test binary says about the databases it ran
// on: how it is written down, read back and shown as one table.
package usage

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"text/tabwriter"
)

// Record says how one test binary had one engine.
type Record struct {
	Package   string `json:"package"`           // the folder the tests are in, e.g. "conformance"
	Engine    string `json:"engine"`            // one of Engines
	How       string `json:"how,omitempty"`     // e.g. "container postgres:17"; empty when NotRun is set
	Server    string `json:"server,omitempty"`  // the server's own word for its version
	NotRun    string `json:"not_run,omitempty"` // why it could not be had
	Databases int    `json:"databases"`         // how many databases the tests asked for
}

// Engines returns the names of the engines, in the order tables list them.
func Engines() []string { return []string{"postgres", "sqlserver", "sqlite"} }

// Write puts the records into a new file in dir, making dir if it is missing.
// Test binaries run at the same time, so each one gets a file of its own.
func Write(dir string, records []Record) (err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	file, err := os.CreateTemp(dir, "engines-*.json")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return json.NewEncoder(file).Encode(records)
}

// Read returns the records of every file that Write left in dir. A folder with
// no such file is an error: it means that no test binary reported.
func Read(dir string) ([]Record, error) {
	names, err := filepath.Glob(filepath.Join(dir, "engines-*.json"))
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("no test binary left a record in %s", dir)
	}
	var all []Record
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		var some []Record
		if err := json.Unmarshal(text, &some); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, some...)
	}
	return all, nil
}

// WithUnasked adds a record for each engine that no record names, so that a
// table over a whole run never passes over an engine in silence.
func WithUnasked(records []Record) []Record {
	all := slices.Clone(records)
	for _, engine := range Engines() {
		named := func(r Record) bool { return r.Engine == engine }
		if !slices.ContainsFunc(records, named) {
			all = append(all, Record{Engine: engine, NotRun: "no test asked for it"})
		}
	}
	return all
}

// row is one line of the table: records that differ only in their package.
type row struct {
	Record
	packages []string
}

// Print writes the records as a table, one line for each way an engine was had,
// and below it a line for each reason why one was not.
func Print(w io.Writer, records []Record) error {
	rows := merge(records)
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "ENGINE   \tHOW\tSERVER\tDATABASES\tPACKAGES")
	for _, r := range rows {
		if r.NotRun == "" {
			fmt.Fprintf(out, "%-9s\t%s\t%s\t%d\t%s\n", r.Engine, r.How, r.Server, r.Databases, strings.Join(r.packages, " "))
		}
	}
	if err := out.Flush(); err != nil {
		return err
	}
	for _, r := range rows {
		if r.NotRun == "" {
			continue
		}
		askers := ""
		if len(r.packages) > 0 {
			askers = " (asked for by " + strings.Join(r.packages, " ") + ")"
		}
		if _, err := fmt.Fprintf(w, "%-9s  NOT RUN: %s%s\n", r.Engine, r.NotRun, askers); err != nil {
			return err
		}
	}
	return nil
}

func merge(records []Record) []*row {
	rows := map[Record]*row{}
	var order []*row
	for _, r := range records {
		key := Record{Engine: r.Engine, How: r.How, Server: r.Server, NotRun: r.NotRun}
		if rows[key] == nil {
			rows[key] = &row{Record: key}
			order = append(order, rows[key])
		}
		rows[key].Databases += r.Databases
		if r.Package != "" && !slices.Contains(rows[key].packages, r.Package) {
			rows[key].packages = append(rows[key].packages, r.Package)
		}
	}
	sort.SliceStable(order, func(a, b int) bool {
		return rank(order[a].Record) < rank(order[b].Record)
	})
	for _, r := range order {
		sort.Strings(r.packages)
	}
	return order
}

// rank orders by engine.
func rank(r Record) string {
	return fmt.Sprintf("%d %s %s %s", slices.Index(Engines(), r.Engine), r.How, r.Server, r.NotRun)
}
