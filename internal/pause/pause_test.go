package pause

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		assert.True(t, For(t.Context(), time.Hour))
		assert.Equal(t, time.Hour, time.Since(began))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		assert.False(t, For(ctx, time.Hour))
		assert.Equal(t, time.Hour+time.Minute, time.Since(began))
	})
}
