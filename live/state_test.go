package live

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/storage"
)

func table(t *testing.T) storage.Table {
	store := storage.NewMemory()
	t.Cleanup(func() { assert.NoError(t, store.Close()) })
	return store.Table("w")
}

// Every text but that of the key itself is refused with one error, whatever is wrong with it.
func TestKeysVerify(t *testing.T) {
	keys := Keys{table(t)}
	info, text, err := keys.Create(t.Context(), "ci", "w", []string{"read"}, "", time.Now())
	require.NoError(t, err)
	row, err := keys.Verify(t.Context(), text)
	require.NoError(t, err)
	assert.Equal(t, info, row.KeyInfo)
	assert.NotContains(t, fmt.Sprint(row), strings.TrimPrefix(text, keyPrefix+info.ID+"_"), "the secret is not stored")
	for _, wrong := range []string{"", "wmk_", text[1:], text + "x", text[:len(text)-1] + "!", strings.Replace(text, info.ID, "0000000000000000", 1)} {
		_, err := keys.Verify(t.Context(), wrong)
		assert.ErrorIs(t, err, ErrBadKey, wrong)
	}
	require.NoError(t, keys.Revoke(t.Context(), info.ID))
	_, err = keys.Verify(t.Context(), text)
	assert.ErrorIs(t, err, ErrBadKey)
	assert.ErrorIs(t, keys.Revoke(t.Context(), info.ID), storage.ErrNotFound)
}

// Pages of the log of scores hold every run once, in the order of time, and forgetting takes exactly what is named.
func TestScoresPages(t *testing.T) {
	log := Scores{table(t)}
	begin := time.Unix(1_800_000_000, 0)
	for i := range 7 {
		require.NoError(t, log.Add(t.Context(), ScoreLog{Run: fmt.Sprint("r", i), Time: begin.Add(time.Duration(i) * time.Second), Scorer: fmt.Sprint("s", i%2), Source: "me"}))
	}
	runs := func(scorer string) (all []string) {
		for cursor := ""; ; {
			page, next, err := log.List(t.Context(), scorer, cursor, 2)
			require.NoError(t, err)
			for _, row := range page {
				all = append(all, row.Run)
			}
			if cursor = next; cursor == "" {
				return all
			}
		}
	}
	assert.Equal(t, []string{"r0", "r1", "r2", "r3", "r4", "r5", "r6"}, runs(""))
	assert.Equal(t, []string{"r1", "r3", "r5"}, runs("s1"))
	_, _, err := log.List(t.Context(), "", "bm9uZQ", 2)
	require.ErrorIs(t, err, ErrCursor)
	require.NoError(t, log.Forget(t.Context(), "", "r3", begin.Add(2*time.Second)))
	assert.Equal(t, []string{"r2", "r4", "r5", "r6"}, runs(""))
}
