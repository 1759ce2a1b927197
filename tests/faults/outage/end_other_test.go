//go:build unix && !linux

package outage

import "syscall"

func endWithUs() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
