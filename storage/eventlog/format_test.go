package eventlog

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"flag"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/storage"
)

var update = flag.Bool("update", false, "write the golden files anew, which is another format")

// goldenControl has the events of a control log in format 1, sealed, one a line in base64; the last line is its hash.
const goldenControl = "testdata/format-1.control"

// goldenChanges has a row of each kind, and one that is deleted.
func goldenChanges() (all []change) {
	for of, value := range map[row]string{
		{"", "key/0123456789abcdef"}:              `{"id":"0123456789abcdef","name":"ci","workspace":"w","scopes":["read"],"sha256":"00","created_at":"2026-11-26T12:00:00Z"}`,
		{"", "replica/http://10.0.0.1:7070"}:      "\x00\xff 32 bytes",
		{"", "deleted/old"}:                       "1",
		{"", formatRow}:                           "1",
		{"w", "workspace"}:                        "w",
		{"w", "once/abc"}:                         `{"body_sha256":"00","status":200,"at":"2026-11-26T12:00:00Z"}`,
		{"w", "quarantine/files:read"}:            `{"id":"files:read","kind":"tool","flags":["says: ignore"],"changed":[],"description":"d","fingerprint":"f","since":"2026-11-26T12:00:00Z"}`,
		{"w", "proposals/p"}:                      `{"id":"p"}`,
		{"w", "capability-versions/cap:both@1"}:   `{"id":"cap:both","tools":["a","b"],"version":1}`,
		{"w", "capability-stats/cap:both@1"}:      `{"capability":"cap:both","version":1,"runs":1}`,
		{"w", "triangulations/t"}:                 `{}`,
		{"w", BuiltBlob}:                          `{"seq":7,"format":14,"sha256":"00"}`,
		{"w", "evaluation"}:                       `{"at":"2026-11-26T12:00:00Z","report":{}}`,
		{"w", "digest-key"}:                       "\x01\x02",
		{"w", "runs/2026-11-26T12:00:00Z/r"}:      `{"id":"r","state":"running"}`,
		{"w", "runs-open/r"}:                      `{"process":"p"}`,
		{"w", "runs-data/r/began/t1/0"}:           "",
		{"w", "once/" + strings.Repeat("a", 200)}: "the length of the key has two bytes",
	} {
		all = append(all, change{of, []byte(value)})
	}
	slices.SortFunc(all, func(a, b change) int { return strings.Compare(a.workspace+"\x00"+a.key, b.workspace+"\x00"+b.key) })
	return append(all, change{row: row{"w", "runs-open/r"}})
}

// The control log of format 1 is read as it was written, and written as it was: what replicas of two versions exchange
// changes with the number of the format alone.
func TestControlLogOfToday(t *testing.T) {
	changes := goldenChanges()
	for of, prefixes := range controlled {
		for _, prefix := range prefixes {
			require.True(t, slices.ContainsFunc(changes, func(c change) bool { return (c.workspace != "") == of && strings.HasPrefix(c.key, prefix) }), prefix)
		}
	}
	if *update {
		var records []storage.Record
		for _, c := range changes {
			records = append(records, storage.Record{Payload: c.encode()})
		}
		events, err := storage.Seal(storage.Head{}, records)
		require.NoError(t, err)
		var b bytes.Buffer
		for _, e := range events {
			b.WriteString(base64.StdEncoding.EncodeToString(e.Bytes()) + "\n")
		}
		end := events[len(events)-1].Head()
		b.WriteString(hex.EncodeToString(end.Chain[:]) + "\n")
		require.NoError(t, os.WriteFile(goldenControl, b.Bytes(), 0o644))
	}
	text, err := os.ReadFile(goldenControl)
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	require.Len(t, lines, len(changes)+1)
	log, head := NewLocal(storage.NewMemory()), storage.Head{}
	for i, c := range changes {
		b, err := base64.StdEncoding.DecodeString(lines[i])
		require.NoError(t, err)
		e, err := storage.OpenSealed(head.Seq+1, b)
		require.NoError(t, err)
		require.NoError(t, e.Follows(head))
		require.Equal(t, b, e.Bytes())
		read, err := decodeChange(e.Payload)
		require.NoError(t, err)
		require.Equal(t, c, read)
		require.Equal(t, e.Payload, read.encode())
		require.NoError(t, log.Append(t.Context(), ControlLog, []storage.Sealed{e}))
		head = e.Head()
	}
	require.Equal(t, lines[len(changes)], hex.EncodeToString(head.Chain[:]))

	s := share(t, storage.NewMemory(), log)
	want, got := map[row]string{}, map[row]string{}
	for _, c := range changes {
		if want[c.row] = string(c.value); c.value == nil {
			delete(want, c.row)
		}
	}
	for c, err := range controlRows(t.Context(), s.Store) {
		require.NoError(t, err)
		got[c.row] = string(c.value)
	}
	maps.DeleteFunc(want, func(of row, _ string) bool { return (&change{row: of, value: []byte{}}).ofLog() })
	require.Equal(t, want, got)
}
