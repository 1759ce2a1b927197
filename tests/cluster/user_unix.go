//go:build unix

package cluster

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
)

// runAs is the system user that a cluster belongs to.
type runAs struct {
	credential *syscall.Credential // nil means the user of this process
}

// clusterUser is this process's user, or postgres where that is root, since
// the server refuses to run as root.
func clusterUser() (runAs, error) {
	if os.Geteuid() != 0 {
		return runAs{}, nil
	}
	account, err := user.Lookup("postgres")
	if err != nil {
		return runAs{}, fmt.Errorf("the server refuses to run as root: %w", err)
	}
	uid, err1 := strconv.ParseUint(account.Uid, 10, 32)
	gid, err2 := strconv.ParseUint(account.Gid, 10, 32)
	if err := errors.Join(err1, err2); err != nil {
		return runAs{}, err
	}
	return runAs{&syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}, nil
}

// own gives a file to the user.
func (r runAs) own(path string) error {
	if r.credential == nil {
		return nil
	}
	return os.Chown(path, int(r.credential.Uid), int(r.credential.Gid))
}

// prepare lets a command run as the user, in folder, without PG… variables of
// this environment, and in a process group of its own: a Ctrl-C at the
// terminal is for this process, which then ends the command in order.
func (r runAs) prepare(cmd *exec.Cmd, folder string) {
	cmd.Dir = folder
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + folder, "LC_ALL=C"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: r.credential}
}

// signals of the server: what it is doing is finished or not.
const (
	fast      = syscall.SIGINT
	immediate = syscall.SIGQUIT
)
