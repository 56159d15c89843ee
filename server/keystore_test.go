package server

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/storage"
)

// Every text but that of the key itself is refused with one error, whatever is wrong with it.
func TestKeysVerify(t *testing.T) {
	keys := keyStore{memory(t).System()}
	info, text, err := keys.create(t.Context(), "ci", "w", []string{"read"}, "", time.Now())
	require.NoError(t, err)
	row, err := keys.verify(t.Context(), text)
	require.NoError(t, err)
	assert.Equal(t, info, row.KeyInfo)
	assert.NotContains(t, fmt.Sprint(row), strings.TrimPrefix(text, keyPrefix+info.ID+"_"), "the secret is not stored")
	for _, wrong := range []string{"", "wmk_", text[1:], text + "x", text[:len(text)-1] + "!", strings.Replace(text, info.ID, "0000000000000000", 1)} {
		_, err := keys.verify(t.Context(), wrong)
		assert.ErrorIs(t, err, errBadKey, wrong)
	}
	require.NoError(t, keys.revoke(t.Context(), info.ID))
	_, err = keys.verify(t.Context(), text)
	assert.ErrorIs(t, err, errBadKey)
	assert.ErrorIs(t, keys.revoke(t.Context(), info.ID), storage.ErrNotFound)
}
