package outage

import "syscall"

// endWithUs has a Postgres stop at once when the tests are killed.
func endWithUs() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGQUIT}
}
