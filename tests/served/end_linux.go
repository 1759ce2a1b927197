package served

import "syscall"

// endWithUs has a child end when the tests are killed.
func endWithUs() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
