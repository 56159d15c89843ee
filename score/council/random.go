package council

import (
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
	"math/rand/v2"
)

// random is a source that depends on a seed and some words alone.
type random struct{ pcg *rand.PCG }

func newRandom(seed int64, words ...string) *random {
	h := sha256.New()
	var n [8]byte
	binary.BigEndian.PutUint64(n[:], uint64(seed))
	h.Write(n[:])
	for _, w := range words {
		binary.BigEndian.PutUint64(n[:], uint64(len(w)))
		h.Write(n[:])
		h.Write([]byte(w))
	}
	sum := h.Sum(nil)
	return &random{rand.NewPCG(binary.BigEndian.Uint64(sum), binary.BigEndian.Uint64(sum[8:]))}
}

// shuffle is that of Fisher and Yates. It is written out so that the order stays what it is whatever a
// library does; the bias of a 64-bit multiplication for lists this short is below 2⁻⁵⁷.
func (r *random) shuffle(n int, swap func(i, j int)) {
	for i := n - 1; i > 0; i-- {
		j, _ := bits.Mul64(r.pcg.Uint64(), uint64(i+1))
		swap(i, int(j))
	}
}
