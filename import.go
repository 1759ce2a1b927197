package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"slotkeeper/app"
	"slotkeeper/app/importer"
)

type importCmd struct {
	storeFlags
	migrateFlag
	Slots        string `placeholder:"FILE" help:"Slots: CSV with the columns ref, starts_at, ends_at, capacity and, if need be, resource; or FHIR R4 Slots, see --format."`
	Format       string `default:"csv" help:"How --slots is written: csv, or smart for FHIR R4 Slots as NDJSON (free ones are taken; their refs are Slot/ID)."`
	Reservations string `placeholder:"FILE" help:"Reservations: CSV with the columns slot_ref, user_id and, if need be, requested_at, in the order in which they are to be judged."`
	RefPrefix    string `help:"Put this before each ref in the database, so that two systems with equal refs stay apart."`
	Rejects      string `placeholder:"FILE" help:"Write the rows that were not taken over to this file; default is NAME.rejects.csv in the working directory, under a new name each time."`
	JSON         bool   `name:"json" help:"Print the summary as JSON."`
}

// Run imports; exit code 0 says that every row was judged, refused ones
// included, 1 that rows were broken or that the import ended early.
func (c *importCmd) Run(p *program) error {
	if err := c.validate(); err != nil {
		return err
	}
	job, closeFiles, err := c.job()
	if err != nil {
		return err
	}
	defer closeFiles()
	ctx, stop := untilSignal()
	defer stop()
	store, err := c.open(ctx, p.warnings(), c.Migrate)
	if err != nil {
		return err
	}
	defer store.Close()
	service := app.NewService(store, c.appConfig(false))
	defer service.Close()

	rejects, err := c.createRejects(job)
	if err != nil {
		return err
	}
	started := time.Now()
	shown := newProgress(p)
	job.Progress = shown.show
	job.Reject = func(r importer.Reject) error {
		if r.Code == importer.CodeBroken {
			shown.broken(r)
		}
		return rejects.Add(r)
	}
	summary, err := importer.Run(ctx, service, job)
	shown.end()
	var refused *importer.FileError
	if errors.As(err, &refused) {
		return errors.Join(err, rejects.close())
	}
	return verdictOf(summary, errors.Join(err, rejects.close(), c.print(p, summary, rejects, time.Since(started))))
}

// verdictOf turns what happened into the exit code.
func verdictOf(summary importer.Summary, err error) error {
	var stopped *importer.StoppedError
	switch {
	case errors.As(err, &stopped):
		return foundError{fmt.Errorf("%w: start it again with the same files to go on, nothing is added twice", err)}
	case err != nil || summary.Broken() > 0:
		return foundError{err}
	}
	return nil
}

func (c *importCmd) validate() error {
	switch format := importer.Format(c.Format); {
	case format != importer.CSV && format != importer.Smart:
		return fmt.Errorf("--format is %q: use csv or smart", c.Format)
	case c.Slots == "" && c.Reservations != "":
		return errors.New("--reservations needs --slots: the file of slots says which slot each slot_ref means, and a slot that is here already is not added twice")
	case c.Slots == "":
		return errors.New("nothing to import: name a file with --slots, and one with --reservations if there is one")
	}
	return c.storeFlags.validate()
}

// job opens the input files.
func (c *importCmd) job() (job importer.Job, closeFiles func(), err error) {
	var files []*os.File
	closeFiles = func() {
		for _, f := range files {
			f.Close() // they were only read
		}
	}
	open := func(name string) (importer.Input, error) {
		f, err := os.Open(name)
		if err != nil {
			return importer.Input{}, err
		}
		files = append(files, f)
		info, err := f.Stat()
		if err == nil && info.IsDir() {
			err = fmt.Errorf("%s is a directory: name a file", name)
		}
		if err != nil {
			return importer.Input{}, err
		}
		return importer.Input{Name: name, Data: f, Size: info.Size()}, nil
	}
	job = importer.Job{Format: importer.Format(c.Format), RefPrefix: c.RefPrefix}
	if job.Slots, err = open(c.Slots); err == nil && c.Reservations != "" {
		var in importer.Input
		in, err = open(c.Reservations)
		job.Reservations = &in
	}
	if err != nil {
		closeFiles()
	}
	return job, closeFiles, err
}

// rejectsFile is the file of rejects on the disk.
type rejectsFile struct {
	*importer.RejectsFile
	file  *os.File
	named bool // by the user, who finds it even if it is empty
}

// createRejects makes the file of rejects before anything is imported, so that
// no refused row is lost. Without --rejects it never overwrites a file.
func (c *importCmd) createRejects(job importer.Job) (*rejectsFile, error) {
	r := &rejectsFile{named: c.Rejects != ""}
	var err error
	if r.named {
		if err = c.notInput(); err != nil {
			return nil, err
		}
		r.file, err = os.OpenFile(c.Rejects, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	} else {
		r.file, err = createNew(job)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot write the rejects: %w: name another file with --rejects", err)
	}
	r.RejectsFile, err = importer.NewRejectsFile(r.file)
	return r, err
}

// notInput keeps --rejects from overwriting what is to be imported.
func (c *importCmd) notInput() error {
	rejects, err := os.Stat(c.Rejects)
	if err != nil {
		return nil // it is new
	}
	for _, name := range []string{c.Slots, c.Reservations} {
		if in, err := os.Stat(name); err == nil && os.SameFile(in, rejects) {
			return fmt.Errorf("--rejects is the input %s itself: name another file", name)
		}
	}
	return nil
}

// createNew makes requests.rejects.csv for requests.csv, or the next free name.
func createNew(job importer.Job) (*os.File, error) {
	input := job.Slots
	if job.Reservations != nil {
		input = *job.Reservations
	}
	base := filepath.Base(input.Name)
	base = strings.TrimSuffix(base, filepath.Ext(base)) + ".rejects"
	for n := 1; ; n++ {
		name := base + ".csv"
		if n > 1 {
			name = fmt.Sprintf("%s-%d.csv", base, n)
		}
		// Rows name people: only their owner reads them.
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if !errors.Is(err, os.ErrExist) {
			return f, err
		}
	}
}

// close writes what waits; an empty file that nobody named is removed.
func (r *rejectsFile) close() error {
	err := errors.Join(r.Flush(), r.file.Close())
	if err == nil && r.Rows == 0 && !r.named {
		err = os.Remove(r.file.Name())
	}
	return err
}

// print prints the summary.
func (c *importCmd) print(p *program, s importer.Summary, r *rejectsFile, took time.Duration) error {
	file := ""
	if r.Rows > 0 || r.named {
		file = r.file.Name()
	}
	if c.JSON {
		return json.NewEncoder(p.stdout).Encode(struct {
			importer.Summary
			Rejects string  `json:"rejects,omitempty"` // the file
			Seconds float64 `json:"seconds"`
		}{s, file, took.Round(time.Millisecond).Seconds()})
	}
	fmt.Fprintf(p.stdout, "slots:        %v\n", s.Slots)
	if c.Reservations != "" {
		fmt.Fprintf(p.stdout, "reservations: %v\n", s.Reservations)
	}
	if file != "" {
		fmt.Fprintf(p.stdout, "rejects:      %d rows in %s\n", r.Rows, file)
	}
	for _, note := range s.Notes {
		fmt.Fprintf(p.stdout, "note:         %s\n", note)
	}
	fmt.Fprintf(p.stdout, "took:         %v\n", took.Round(time.Millisecond))
	return nil
}
