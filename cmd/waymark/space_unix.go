//go:build linux || darwin || freebsd

package main

import "syscall"

// freeSpace is how many bytes this user may still write where dir is.
func freeSpace(dir string) (n uint64, known bool, err error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0, true, err
	}
	return uint64(s.Bavail) * uint64(s.Bsize), true, nil
}
