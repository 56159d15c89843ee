package main

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNewerRelease(t *testing.T) {
	for _, tt := range []struct {
		release, than string
		newer         bool
	}{
		{"1.2.3", "v1.2.2", true},
		{"1.10.0", "v1.9.9", true},
		{"1.2.3", "v1.2.3", false},
		{"1.2.3", "v1.2.3-rc.1", true},
		{"1.2.3-rc.1", "v1.2.3", false},
		{"1.2.3", "v2.0.0", false},
		{"1.2.3", "(devel)", false},
		{"9.9.9", "v0.0.0-20261125193326-9407887c18a4", false},
		{"9.9.9", "v0.0.0-20261125193326-9407887c18a4+dirty", false},
	} {
		require.Equal(t, tt.newer, newerRelease(tt.release, tt.than), "%s, %s", tt.release, tt.than)
	}
}

func TestInstalledBy(t *testing.T) {
	for program, want := range map[string]string{
		"/usr/bin/waymark": "from a package of the system",
		"/home/ada/x/node_modules/waymark-linux-x64/bin/waymark": "from an npm package",
		"/opt/homebrew/Caskroom/waymark/1.0/waymark":             "by Homebrew",
		"/home/ada/waymark": "from an archive or a working copy",
	} {
		way, command := installedBy(program)
		require.Equal(t, want, way)
		require.NotEmpty(t, command)
	}
}

// The network is asked only with an address, which answers with a release.
func TestUpgradeCheck(t *testing.T) {
	asked, answer := 0, `{"tag_name":"v9.9.9"}`
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		_, _ = w.Write([]byte(answer))
	}))
	t.Cleanup(web.Close)
	out, _ := says(t, 0, "upgrade", "--check")
	require.Contains(t, out, "nothing was read from the network")
	require.Zero(t, asked)
	out, _ = says(t, 0, "upgrade", "--check", "--from", web.URL) // a working copy is never older
	require.Contains(t, out, "newest release: 9.9.9")
	require.Equal(t, 1, asked)
	answer = `{"tag_name":"$(reboot)"}`
	_, errs := says(t, 3, "upgrade", "--check", "--from", web.URL)
	require.Contains(t, errs, "names no release")
	_, errs = says(t, 2, "upgrade", "--check", "--from", "http://releases.example/x")
	require.Contains(t, errs, "want https")
	_, errs = says(t, 2, "upgrade")
	require.Contains(t, errs, "needs --check")
}
