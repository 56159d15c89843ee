package gateway

import "syscall"

// groupAttr also asks the kernel to kill the child when the thread that started it dies: with this process, since Go ends
// no thread that no goroutine was locked to.
func groupAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
