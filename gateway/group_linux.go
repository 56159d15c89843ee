package gateway

import "syscall"

// groupAttr also makes the kernel kill the child when the thread that started it ends. This is the end of the process,
// because Go ends a thread only if a goroutine was locked to it.
func groupAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
