package gateway

import (
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

// groupAttr also asks the kernel to kill the child when we die without a chance to.
func groupAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// The kernel counts the death of the thread that started the child as ours. So one thread, which stays as
// long as the program does, starts all of them.
var starter = sync.OnceValue(func() chan<- func() {
	jobs := make(chan func())
	go func() {
		runtime.LockOSThread()
		for job := range jobs {
			job()
		}
	}()
	return jobs
})

func launch(cmd *exec.Cmd) (err error) {
	done := make(chan struct{})
	starter() <- func() {
		defer close(done)
		err = cmd.Start()
	}
	<-done
	return err
}
