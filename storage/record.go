package storage

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"hash/crc32"
)

// A stored event is
//
//	format flags crc32c chain[32] digest[32] keyhash[32]? payload
//
// The checksum covers all the rest, so a changed byte is seen on any read; digest and chain tie the
// event to its place in the history. keyhash is there if the record had a key, so a key and its
// event cannot be stored apart. Rows share the first six bytes (format, flags,
// crc32c).
const (
	recordFormat = 1
	flagErased   = 1 << 0
	flagKeyed    = 1 << 1

	recordHead = 6
	eventHead  = recordHead + 32 + 32
)

var (
	errFormat   = errors.New("unknown record format")
	errChecksum = errors.New("checksum does not match")
	errShort    = errors.New("record is cut short")
	errDigest   = errors.New("payload does not match its digest")
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// seal completes a record whose bytes after the head are filled in.
func seal(b []byte, flags byte) []byte {
	b[0], b[1] = recordFormat, flags
	binary.BigEndian.PutUint32(b[2:], recordSum(b))
	return b
}

func recordSum(b []byte) uint32 {
	return crc32.Update(crc32.Checksum(b[:2], castagnoli), castagnoli, b[recordHead:])
}

// unseal checks a record and returns its flags and body.
func unseal(b []byte) (flags byte, body []byte, err error) {
	switch {
	case len(b) < recordHead:
		return 0, nil, errShort
	case binary.BigEndian.Uint32(b[2:]) != recordSum(b):
		return 0, nil, errChecksum
	case b[0] != recordFormat:
		return 0, nil, errFormat
	}
	return b[1], b[recordHead:], nil
}

// chainNext is c(n) = SHA-256(c(n-1) ‖ seq ‖ digest), seq big-endian. The digest stands for the
// payload, so that erasing the payload leaves the chain whole.
func chainNext(previous [32]byte, seq uint64, digest [32]byte) [32]byte {
	var b [72]byte
	copy(b[:], previous[:])
	binary.BigEndian.PutUint64(b[32:], seq)
	copy(b[40:], digest[:])
	return sha256.Sum256(b[:])
}

// storedEvent is an event with the hash of its key.
type storedEvent struct {
	Event
	keyed   bool
	keyHash [32]byte
}

// eventSize is the length of an encoded event.
func eventSize(e *storedEvent) int {
	n := eventHead + len(e.Payload)
	if e.keyed {
		n += 32
	}
	return n
}

func encodeEvent(e *storedEvent) []byte { return appendEvent(make([]byte, 0, eventSize(e)), e) }

func appendEvent(b []byte, e *storedEvent) []byte {
	at := len(b)
	b = append(b, make([]byte, recordHead)...)
	b = append(b, e.Chain[:]...)
	b = append(b, e.Digest[:]...)
	var flags byte
	if e.keyed {
		flags |= flagKeyed
		b = append(b, e.keyHash[:]...)
	}
	if e.Erased {
		flags |= flagErased
	}
	b = append(b, e.Payload...)
	seal(b[at:], flags)
	return b
}

// decodeEvent leaves the payload in b; the caller copies it where b does not last.
func decodeEvent(seq uint64, b []byte) (storedEvent, error) {
	e := storedEvent{Event: Event{Seq: seq}}
	flags, body, err := unseal(b)
	if err != nil {
		return e, err
	}
	if flags&^(flagErased|flagKeyed) != 0 {
		return e, errFormat
	}
	if len(body) < 64 {
		return e, errShort
	}
	copy(e.Chain[:], body)
	copy(e.Digest[:], body[32:])
	body = body[64:]
	if flags&flagKeyed != 0 {
		if len(body) < 32 {
			return e, errShort
		}
		e.keyed = true
		copy(e.keyHash[:], body)
		body = body[32:]
	}
	e.Erased = flags&flagErased != 0
	if e.Erased && len(body) != 0 {
		return e, errFormat
	}
	e.Payload = body
	return e, nil
}

// check compares the event with its payload and with the event before it.
func (e *storedEvent) check(before Head) error {
	if !e.Erased && sha256.Sum256(e.Payload) != e.Digest {
		return errDigest
	}
	if chainNext(before.Chain, e.Seq, e.Digest) != e.Chain {
		return errors.New("hash chain is broken")
	}
	return nil
}

func encodeRow(version uint64, value []byte) []byte {
	b := binary.BigEndian.AppendUint64(make([]byte, recordHead, recordHead+8+len(value)), version)
	return seal(append(b, value...), 0)
}

// decodeRow leaves the value in b.
func decodeRow(b []byte) (version uint64, value []byte, err error) {
	_, body, err := unseal(b)
	if err == nil && len(body) < 8 {
		err = errShort
	}
	if err != nil {
		return 0, nil, err
	}
	return binary.BigEndian.Uint64(body), body[8:], nil
}

// The registry entry of a workspace: flags 0 is alive, flagDeleting a deletion that is not finished, flagClearing one of
// its log alone.
const (
	flagDeleting = 1 << 0
	flagClearing = 1 << 1
)

func encodeWorkspace(flags byte) []byte { return seal(make([]byte, recordHead), flags) }
