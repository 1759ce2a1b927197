//go:build !unix

package cluster

import (
	"errors"
	"os"
	"os/exec"
)

// runAs is the system user that a cluster belongs to.
type runAs struct{}

// clusterUser refuses: its server is ended by signals.
func clusterUser() (runAs, error) {
	return runAs{}, errors.New("a temporary cluster is for Unix systems only")
}

func (runAs) own(string) error          { return nil }
func (runAs) prepare(*exec.Cmd, string) {}

func endWithUs(*exec.Cmd) {}

var fast, immediate = os.Interrupt, os.Kill
