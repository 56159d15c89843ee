package storage

import "os"

// Every change of a file that is not badger's goes through these, so that tests can have the n-th of them fail.

// inject, where a test has set it, is asked before each; its error is returned, by write after half of the bytes.
var inject func(op, path string) error

func fault(op, path string) error {
	if inject == nil {
		return nil
	}
	return inject(op, path)
}

func openFile(path string, flags int) (*os.File, error) {
	if err := fault("open", path); err != nil {
		return nil, err
	}
	return os.OpenFile(path, flags, 0o600)
}

func writeTo(f *os.File, b []byte) (int, error) {
	if err := fault("write", f.Name()); err != nil {
		n, _ := f.Write(b[:len(b)/2])
		return n, err
	}
	return f.Write(b)
}

func syncFile(f *os.File) error {
	if err := fault("sync", f.Name()); err != nil {
		return err
	}
	return f.Sync()
}

func rename(from, to string) error {
	if err := fault("rename", to); err != nil {
		return err
	}
	return os.Rename(from, to)
}

func removeAll(path string) error {
	if err := fault("remove", path); err != nil {
		return err
	}
	return os.RemoveAll(path)
}
