package engines

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"testing"
	"time"
)

func TestMain(m *testing.M) { os.Exit(Main(m)) }

// fakeTB stands for a test, so that its skip or failure can be looked at.
type fakeTB struct {
	testing.TB
	skipped, failed string
	logged          []string
	cleanups        []func()
}

// attempted runs do as a test would be run, up to its skip or failure; the
// cleanups wait for finish.
func attempted(t *testing.T, do func(testing.TB)) *fakeTB {
	t.Helper()
	fake := &fakeTB{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		do(fake)
	}()
	<-done
	return fake
}

func (f *fakeTB) Helper()                  {}
func (f *fakeTB) Context() context.Context { return context.Background() }
func (f *fakeTB) Cleanup(do func())        { f.cleanups = append(f.cleanups, do) }
func (f *fakeTB) Logf(format string, args ...any) {
	f.logged = append(f.logged, fmt.Sprintf(format, args...))
}

func (f *fakeTB) Skip(args ...any) {
	f.skipped = fmt.Sprint(args...)
	runtime.Goexit()
}

func (f *fakeTB) Fatal(args ...any) {
	f.failed = fmt.Sprint(args...)
	runtime.Goexit()
}

func (f *fakeTB) Fatalf(format string, args ...any) { f.Fatal(fmt.Sprintf(format, args...)) }

// finish is the end of the test.
func (f *fakeTB) finish() {
	for len(f.cleanups) > 0 {
		last := len(f.cleanups) - 1
		f.cleanups[last]()
		f.cleanups = f.cleanups[:last]
	}
}

// environmentOf is a machine with these variables, no Docker daemon and no
// Postgres programs.
func environmentOf(variables map[string]string) environment {
	return environment{
		getenv:   func(name string) string { return variables[name] },
		docker:   "unix:///nonexistent/docker.sock",
		programs: "/nonexistent/*/bin",
		lookPath: func(name string) (string, error) { return "", fmt.Errorf("no %s", name) },
	}
}

// begun returns a session that has begun and ends, silently, with the test.
func begun(t *testing.T, env environment) *session {
	t.Helper()
	s := newSession(env)
	s.out = io.Discard
	if err := s.begin(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.end)
	return s
}

// eventually asks until the answer is yes: the end of another process or of a
// container is told to nobody but its parent.
func eventually(t *testing.T, what string, answer func() bool) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for !answer() {
		if time.Now().After(deadline) {
			t.Fatalf("still not so after 20 s: %s", what)
		}
		time.Sleep(20 * time.Millisecond)
	}
}
