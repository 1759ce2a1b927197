package cluster

import (
	"os/exec"
	"syscall"
)

// endWithUs has a server stop at once when this process is killed.
func endWithUs(cmd *exec.Cmd) { cmd.SysProcAttr.Pdeathsig = syscall.SIGQUIT }
