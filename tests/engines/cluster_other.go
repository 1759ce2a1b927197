//go:build !unix

package engines

import (
	"errors"
	"os/exec"
)

// runAs is the system user that a cluster belongs to.
type runAs struct{}

// clusterUser refuses: the server is held by a Unix shell.
func clusterUser() (runAs, error) {
	return runAs{}, errors.New("a temporary cluster is for Unix systems only")
}

func (runAs) own(string) error          { return nil }
func (runAs) prepare(*exec.Cmd, string) {}
