package eventlog

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPostgresRefusesSettingsThatLoseEvents(t *testing.T) {
	address := startPostgres(t)
	for option, want := range map[string]string{
		"synchronous_commit%3Doff": "synchronous_commit = off",
		"synchronous_commit%3Don":  "",
	} {
		l, err := Open(t.Context(), address+"&options=-c%20"+option, Options{})
		if want != "" {
			require.ErrorContains(t, err, want)
			l, err = Open(t.Context(), address+"&options=-c%20"+option, Options{Unsafe: true})
		}
		require.NoError(t, err)
		require.NoError(t, l.Close())
	}
	address = startPostgres(t, "fsync=off")
	_, err := Open(t.Context(), address, Options{})
	require.ErrorContains(t, err, "fsync = off")
}

func TestErrorsHideSecrets(t *testing.T) {
	for _, address := range []string{
		"postgres://u:s3%20cret@127.0.0.1:1/x?connect_timeout=1", "postgres://u:s3%20cret@127.0.0.1:port/x", "postgres://u:s3%20cret@[::1/x",
		"postgres://s3cret@%zz", "other://u:s3cret@h",
		"postgres://127.0.0.1:1/x?password=s3%20cret&connect_timeout=1", "postgres://127.0.0.1:1/x?options=a=b&password=s3cret&sslpassword=s3%20cret",
	} {
		_, err := Open(t.Context(), address, Options{Unsafe: true})
		require.Error(t, err, address)
		for _, secret := range []string{"s3cret", "s3 cret", "s3%20cret"} {
			require.NotContains(t, err.Error(), secret, address)
			require.NotContains(t, fmt.Sprintf("%+v", err), secret, address)
		}
	}
}
