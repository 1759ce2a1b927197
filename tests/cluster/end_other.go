//go:build unix && !linux

package cluster

import "os/exec"

func endWithUs(*exec.Cmd) {}
