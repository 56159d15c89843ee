package storage

import (
	"errors"
	"os"
	"syscall"
)

// reserve allocates disk space for the holes of a file, because a write through a map into a hole ends the process if
// the disk is full. If the file system does not support that, nothing is changed.
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
