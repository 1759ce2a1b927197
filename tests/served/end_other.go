//go:build !linux

package served

import "syscall"

func endWithUs() *syscall.SysProcAttr { return nil }
