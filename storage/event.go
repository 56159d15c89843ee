package storage

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
)

// Event is one entry of the log.
type Event struct {
	Seq     uint64
	Chain   [32]byte
	Digest  [32]byte // SHA-256 of the payload as it was appended
	Erased  bool     // the payload was erased and is empty
	Payload []byte
}

// Head is the end of a log. The zero Head is an empty log.
type Head struct {
	Seq   uint64
	Chain [32]byte
}

// next returns the head after one more event, with c(n) = SHA-256(c(n-1) ‖ n ‖ digest), n big-endian. The digest
// represents the payload, so the chain stays valid when the payload is erased.
func (h Head) next(digest [32]byte) Head {
	var b [72]byte
	copy(b[:], h.Chain[:])
	binary.BigEndian.PutUint64(b[32:], h.Seq+1)
	copy(b[40:], digest[:])
	return Head{h.Seq + 1, sha256.Sum256(b[:])}
}

// A stored event is
//
//	flags chain[32] digest[32] payload
//
// Digest and chain reveal every changed byte and bind the event to its position in the history.
const (
	flagErased = 1
	eventHead  = 1 + 32 + 32
)

func encodeEvent(chain, digest [32]byte, erased bool, payload []byte) []byte {
	b := make([]byte, 1, eventHead+len(payload))
	if erased {
		b[0] = flagErased
	}
	b = append(b, chain[:]...)
	b = append(b, digest[:]...)
	return append(b, payload...)
}

var errEvent = errors.New("an event of unknown form")

// decodeEvent decodes an event. The payload is a part of b, not a copy.
func decodeEvent(seq uint64, b []byte) (Event, error) {
	e := Event{Seq: seq}
	if len(b) < eventHead || b[0]&^flagErased != 0 {
		return e, errEvent
	}
	copy(e.Chain[:], b[1:])
	copy(e.Digest[:], b[33:])
	e.Erased, e.Payload = b[0] == flagErased, b[eventHead:]
	if e.Erased && len(e.Payload) > 0 {
		return e, errEvent
	}
	return e, nil
}

// follows checks that an event is intact and is the next one after before.
func (e *Event) follows(before Head) error {
	switch {
	case e.Seq != before.Seq+1:
		return fmt.Errorf("event %d is missing", before.Seq+1)
	case !e.Erased && sha256.Sum256(e.Payload) != e.Digest:
		return errors.New("payload does not match its digest")
	case before.next(e.Digest).Chain != e.Chain:
		return errors.New("hash chain is broken")
	}
	return nil
}

// header is the state of a workspace as a whole. It is stored as the sequence of its fields, big-endian.
type header struct {
	Head       Head
	Changes    uint64 // number of transactions so far; 0: it never existed
	Generation uint64 // number of deletions
	Deleted    bool   // it has not been created again since the last deletion
	ErasedAt   uint64 // the end of the log before the last erasure: snapshots up to it are rejected
}

func (h header) exists() bool { return h.Changes > 0 && !h.Deleted }

// space returns the key space of the entries of a workspace. A workspace that is created again after a deletion has
// another space, so that a deletion is one write.
func (h header) space(workspace string) string {
	if h.Generation == 0 {
		return workspace
	}
	return fmt.Sprintf("%s~%d", workspace, h.Generation)
}

func (h header) encode() []byte {
	b, _ := binary.Append(nil, binary.BigEndian, h) // fails only for types without a fixed size
	return b
}

// decodeHeader decodes a header. For empty input it returns the header of a workspace that never existed.
func decodeHeader(b []byte) (h header, err error) {
	if _, err := binary.Decode(b, binary.BigEndian, &h); len(b) > 0 && (err != nil || !bytes.Equal(h.encode(), b)) {
		return h, errors.New("a header of unknown form")
	}
	return h, nil
}

func headKey(workspace string) Key { return Key{tableHeads, "", workspace} }

func readHeader(r Reader, workspace string) (header, error) {
	if err := checkWorkspace(workspace); err != nil { // the name could be the space of another workspace
		return header{}, err
	}
	values, err := r.Get(headKey(workspace))
	if err != nil {
		return header{}, err
	}
	h, err := decodeHeader(values[0])
	if err != nil {
		return h, damaged("workspace %q: %v", workspace, err)
	}
	return h, nil
}

// name encodes numbers as a name, big-endian.
func name(numbers ...uint64) string {
	b := make([]byte, 0, 8*len(numbers))
	for _, n := range numbers {
		b = binary.BigEndian.AppendUint64(b, n)
	}
	return string(b)
}

func number(name string) uint64 {
	if len(name) < 8 {
		return 0
	}
	return binary.BigEndian.Uint64([]byte(name))
}
