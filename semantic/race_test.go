//go:build race

package semantic

const raceEnabled = true
