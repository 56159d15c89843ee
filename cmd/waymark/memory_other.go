//go:build !linux

package main

// memory is unknown here: set GOMEMLIMIT.
func memory() uint64 { return 0 }
