//go:build !linux

package storage

// reserve does nothing on this system; the guard against a full disk is the only protection.
func reserve(string) error { return nil }
