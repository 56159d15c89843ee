package mcpserver

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// By the rules of https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation,
// for the only field that MCP uses.
func TestReadEvents(t *testing.T) {
	for _, c := range []struct {
		stream string
		want   []string
	}{
		{"", nil},
		{": ok\n\n", nil},
		{"data: {}\n\n", []string{"{}"}},
		{"data:{}\n\n", []string{"{}"}},
		{"data:  {}\n\n", []string{" {}"}},
		{"event: message\nid: 7\ndata: {\ndata: }\n\ndata: 2\r\n\r\n", []string{"{\n}", "2"}},
		{"data: cut off", nil},
		{"data: cut off\n", nil},
		{"id: 1\ndata:\n\ndata: x\n\n", []string{"x"}},
		{"database: no\n\n", nil},
	} {
		var got []string
		require.NoError(t, readEvents(strings.NewReader(c.stream), func(data []byte) error {
			got = append(got, string(data))
			return nil
		}))
		assert.Equal(t, c.want, got, "%q", c.stream)
	}
	assert.Error(t, readEvents(strings.NewReader("data: "+strings.Repeat("x", largestEvent+1)+"\n\n"), func([]byte) error { return nil }))
	stop := errors.New("stop")
	assert.ErrorIs(t, readEvents(strings.NewReader("data: 1\n\n"), func([]byte) error { return stop }), stop)
}

func FuzzReadEvents(f *testing.F) {
	f.Add("event: message\ndata: {\"a\":1}\n\ndata: x\n\n: c\n")
	f.Fuzz(func(t *testing.T, stream string) {
		events := 0
		_ = readEvents(strings.NewReader(stream), func(data []byte) error {
			events++
			if len(data) == 0 || len(data) > largestEvent {
				t.Fatalf("an event of %d bytes", len(data))
			}
			return nil
		})
		if most := strings.Count(stream, "data:"); events > most {
			t.Fatalf("%d events of %d data lines", events, most)
		}
	})
}
