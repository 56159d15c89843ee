//go:build !(linux || darwin || freebsd || windows)

package storage

// lockDir leaves the matter to badger's own lock.
func lockDir(string) (unlock func() error, err error) { return func() error { return nil }, nil }
