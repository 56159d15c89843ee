//go:build !(linux || darwin || freebsd)

package main

// freeSpace is not known here.
func freeSpace(string) (n uint64, known bool, err error) { return 0, false, nil }
