package storage

import (
	"errors"
	"os"
	"syscall"
)

// reserve makes the file system keep room for all bytes of a file that has holes: a write through a map into a hole
// ends the process where the disk is full. Where the file system cannot, nothing is changed.
func reserve(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return err
	}
	const keepSize = 1
	err = syscall.Fallocate(int(f.Fd()), keepSize, 0, info.Size())
	if errors.Is(err, syscall.EOPNOTSUPP) || errors.Is(err, syscall.ENOSYS) {
		return nil
	}
	return err
}
