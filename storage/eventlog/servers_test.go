package eventlog

import (
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"waymark/storage/eventlog/logtest"
)

// startNATS runs one node in this process.
func startNATS(t *testing.T) (address string) {
	return logtest.StartNATS(t, server.Options{StoreDir: t.TempDir(), Port: server.RANDOM_PORT}).ClientURL()
}

// startPostgres runs a server for the test.
func startPostgres(t *testing.T, settings ...string) (address string) {
	return logtest.StartPostgres(t, settings...).Address
}
