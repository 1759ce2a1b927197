package engines

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"slotkeeper/tests/cluster"
	"slotkeeper/tests/engines/usage"
)

const (
	postgresName  = "postgres"
	sqlserverName = "sqlserver"
	sqliteName    = "sqlite"

	requireVariable = "SLOTKEEPER_TEST_REQUIRE"
	reportVariable  = "SLOTKEEPER_TEST_REPORT"
)

// environment is what a search for a server looks at on this machine.
type environment struct {
	getenv   func(string) string
	docker   string                       // the daemon's endpoint; empty means DOCKER_HOST or the usual socket
	programs string                       // glob of the folders that hold Postgres programs
	lookPath func(string) (string, error) // finds a program when no such folder has it
}

func osEnvironment() environment {
	return environment{
		getenv:   os.Getenv,
		programs: cluster.Folders,
		lookPath: exec.LookPath,
	}
}

// valueOr returns the variable's value, or otherwise where it is not set.
func (e environment) valueOr(variable, otherwise string) string {
	if value := e.getenv(variable); value != "" {
		return value
	}
	return otherwise
}

// required returns the engines that may not be skipped. A name it does not
// know is an error: a slip of the pen would else require nothing.
func (e environment) required() ([]string, error) {
	var names []string
	for name := range strings.SplitSeq(e.getenv(requireVariable), ",") {
		name = strings.TrimSpace(name)
		if name == "" {
			continue
		}
		if !slices.Contains(usage.Engines(), name) {
			return nil, fmt.Errorf("%s lists %q; it knows %s",
				requireVariable, name, strings.Join(usage.Engines(), ", "))
		}
		names = append(names, name)
	}
	return names, nil
}

// binaryName is the folder of the tests that this binary holds.
func binaryName() string {
	name := filepath.Base(os.Args[0])
	return strings.TrimSuffix(strings.TrimSuffix(name, ".exe"), ".test")
}
