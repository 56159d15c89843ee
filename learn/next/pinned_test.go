package next

import (
	"crypto/sha256"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
)

// The shipped prior is data of which no other test notices each number. Whoever fits it anew changes the hash here, and
// raises suggest.Edition so that stores in use are evaluated again.
func TestShippedPriorIsPinned(t *testing.T) {
	assert.Equal(t, "a4762045cf542a3d", fmt.Sprintf("%x", sha256.Sum256([]byte(fmt.Sprint(pooled))))[:16])
}
