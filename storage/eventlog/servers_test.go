package eventlog

import (
	"testing"

	"waymark/storage/eventlog/logtest"
)

// startPostgres runs a server for the test.
func startPostgres(t *testing.T, settings ...string) (address string) {
	return logtest.StartPostgres(t, settings...).Address
}
