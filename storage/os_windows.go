package storage

import (
	"errors"
	"io/fs"
	"syscall"
)

// lockDir holds a directory for this process until unlock or death: nobody else may open the file meanwhile.
func lockDir(path string) (unlock func() error, err error) {
	const sharingViolation = syscall.Errno(32)
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return nil, err
	}
	h, err := syscall.CreateFile(name, syscall.GENERIC_READ|syscall.GENERIC_WRITE, 0, nil, syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	if errors.Is(err, sharingViolation) {
		return nil, ErrInUse
	}
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return func() error { return syscall.CloseHandle(h) }, nil
}
