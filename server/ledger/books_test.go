package ledger

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/storage"
)

// An account goes on after a restart, and so does a conversation: its definitions are avoided once.
func TestBooksSurviveARestart(t *testing.T) {
	store := storage.NewMemory()
	t.Cleanup(func() { assert.NoError(t, store.Close()) })
	open := func() *Books {
		return &Books{Table: store.Table, Warn: func(err error) { t.Error(err) }}
	}
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	first := open()
	first.Of("a").Ask("one", now, 160_000, 8000, 40, 1800)
	first.Of("a").Ask("two", now.Add(time.Second), 160_000, 8000, 40, 1800)
	first.Of("b").Ask("one", now, 4000, 2000, 40, 1800)
	want := first.Of("a").Totals()
	require.Equal(t, 2, want.Conversations)

	killed := open()
	assert.Equal(t, 1, killed.Of("a").Totals().Turns, "without Close the turns of at most a minute are lost")

	first.Close()
	second := open()
	assert.Equal(t, want, second.Of("a").Totals())
	assert.Equal(t, 1, second.Of("b").Totals().Turns, "each workspace has its own")
	went := second.Of("a").Ask("two", now.Add(2*time.Second), 160_000, 8000, 40, 1800)
	assert.Equal(t, Balance{Turns: 2, Gross: 38_000, Spent: 1000, Net: 37_000, BreakEven: 76}, went)
	assert.Equal(t, 2, second.Of("a").Totals().Conversations)
	assert.Equal(t, want.Gross, second.Of("a").Totals().Gross)
}

// A damaged account is reported, and left as it is for whoever repairs it.
func TestBooksReportDamage(t *testing.T) {
	store := storage.NewMemory()
	t.Cleanup(func() { assert.NoError(t, store.Close()) })
	table, err := store.Table("a")
	require.NoError(t, err)
	_, err = table.Put(t.Context(), bookRow, []byte("{"))
	require.NoError(t, err)
	var said []error
	books := &Books{Table: store.Table, Warn: func(err error) { said = append(said, err) }}
	books.Of("a").Ask("one", time.Unix(0, 0), 4000, 2000, 40, 1800)
	books.Close()
	require.Len(t, said, 1)
	assert.ErrorContains(t, said[0], `"a"`)
	value, _, err := table.Get(t.Context(), bookRow)
	require.NoError(t, err)
	assert.Equal(t, "{", string(value))
}
