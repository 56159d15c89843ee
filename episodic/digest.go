package episodic

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"waymark/catalog"
)

// What is kept of the values of one document. A list of a thousand items says no more about where a
// value comes from than its first few.
const (
	maxPaths    = 32        // paths, in order
	maxValues   = 16        // distinct values of one path, in the order of the document
	maxDigests  = 128       // values of all paths
	maxDocument = 256 << 10 // bytes
	maxText     = 256       // bytes of a plain result
	maxPath     = 256       // bytes
	maxDepth    = 8
	minText     = 3   // characters: shorter texts stand everywhere
	minNumber   = 100 // smaller numbers stand everywhere
	maxNumber   = 1e39
	digestBytes = 9
)

// DigestKey is what values are hashed with. Each workspace has its own.
type DigestKey [32]byte

// Digests returns the digests of the scalar values of a JSON document, nil if there are none. A path
// names the fields on the way and has [] for any item of a list:
//
//	{"user":{"login":"ann"},"items":[{"id":"i-17"},{"id":"i-18"}]}   →  items[].id, user.login
//
// Booleans, null, texts of fewer than 3 characters and numbers between -100 and 100 have none: they are
// equal by chance. A number has the digest of its text, so that 1017 is found in "1017". A name that does
// not look like one may be a value, and is written as *. What is not JSON has no digests; of a long
// document the first 256 KiB count.
func (k DigestKey) Digests(document json.RawMessage) Digests {
	w := k.digester()
	if !w.document(document) {
		return nil
	}
	return w.result()
}

// Content returns the digests of the result of a tool: a text, or the texts among MCP content blocks. A
// text that is JSON counts as the document it is, another as one value without a path.
func (k DigestKey) Content(content json.RawMessage) Digests {
	w := k.digester()
	for _, text := range Texts(content) {
		text = strings.TrimSpace(text)
		if document := strings.HasPrefix(text, "{") || strings.HasPrefix(text, "["); document && w.document([]byte(text)) {
			continue
		}
		if len(text) <= maxText {
			w.text("", text)
		}
	}
	return w.result()
}

// Texts are those of a result as hosts write it: a text, or content blocks with texts. Anything else has none.
func Texts(content json.RawMessage) (texts []string) {
	var one string
	if json.Unmarshal(content, &one) == nil {
		return []string{one}
	}
	var blocks []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(content, &blocks) == nil {
		for _, b := range blocks {
			texts = append(texts, b.Text)
		}
	}
	return texts
}

// digester collects the digests of documents.
type digester struct {
	mac   hash.Hash
	found Digests
	n     int
}

func (k DigestKey) digester() *digester {
	return &digester{mac: hmac.New(sha256.New, k[:]), found: Digests{}}
}

func (w *digester) result() Digests {
	if len(w.found) == 0 {
		return nil
	}
	return w.found
}

var errFull = errors.New("no room for more digests")

// document walks one document; false if it is none.
func (w *digester) document(document []byte) bool {
	cut := len(document) > maxDocument
	dec := jsontext.NewDecoder(bytes.NewReader(document[:min(len(document), maxDocument)]), jsontext.AllowDuplicateNames(true))
	err := w.value(dec, "")
	return err == nil || errors.Is(err, errFull) || cut && errors.Is(err, io.ErrUnexpectedEOF)
}

// value walks the next value.
func (w *digester) value(dec *jsontext.Decoder, path string) error {
	if w.n >= maxDigests {
		return errFull
	}
	if len(path) > maxPath || dec.StackDepth() > maxDepth {
		return dec.SkipValue()
	}
	kind := dec.PeekKind()
	token, err := dec.ReadToken()
	if err != nil {
		return err
	}
	switch kind {
	case '{':
		for dec.PeekKind() != '}' {
			name, err := dec.ReadToken()
			if err != nil {
				return err
			}
			inner := fieldName(name.String())
			if path != "" {
				inner = path + "." + inner
			}
			if err := w.value(dec, inner); err != nil {
				return err
			}
		}
		_, err = dec.ReadToken()
	case '[':
		for dec.PeekKind() != ']' {
			if err := w.value(dec, path+"[]"); err != nil {
				return err
			}
		}
		_, err = dec.ReadToken()
	case '"':
		w.text(path, token.String())
	case '0':
		if text, ok := numberText(token.String()); ok {
			w.add(path, text)
		}
	}
	return err
}

func (w *digester) text(path, s string) {
	if s = strings.TrimSpace(s); utf8.RuneCountInString(s) >= minText {
		w.add(path, s)
	}
}

// numberText writes a number in one way, 1e3 as 1000. Small ones are left out, and those that nobody writes out.
func numberText(n string) (string, bool) {
	f, err := strconv.ParseFloat(n, 64)
	if size := math.Abs(f); err != nil || len(n) > 40 || size < minNumber || size > maxNumber {
		return "", false
	}
	if !strings.ContainsAny(n, ".eE") {
		return n, true
	}
	return strconv.FormatFloat(f, 'f', -1, 64), true
}

// add keeps a keyed hash of a value, truncated to digestBytes: equal values can be recognised, and none can
// be read or guessed without the key. Each value counts once for a path.
func (w *digester) add(path, text string) {
	values, known := w.found[path]
	if len(values) >= maxValues || !known && len(w.found) >= maxPaths {
		return
	}
	w.mac.Reset()
	w.mac.Write([]byte(text))
	d := base64.RawURLEncoding.EncodeToString(w.mac.Sum(nil)[:digestBytes])
	if !slices.Contains(values, d) {
		w.found[path] = append(values, d)
		w.n++
	}
}

// fieldName is the name of a field of JSON as it may be stored: one that does not look like a name (it
// holds a space, an address, a path) may be a value that serves as a key, and is *.
func fieldName(name string) string {
	for i, c := range name {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c == '$'
		if !letter && (i == 0 || c != '-' && (c < '0' || c > '9')) {
			return "*"
		}
	}
	if name == "" || len(name) > maxField {
		return "*"
	}
	return name
}

const maxField = 64 // bytes

// normalise checks digests that somebody sends and puts the values of each path in order.
func (d Digests) normalise(field string) error {
	if len(d) > maxPaths {
		return fmt.Errorf("%s has %d paths, the limit is %d", field, len(d), maxPaths)
	}
	for path, values := range d {
		if _, err := catalog.Identifier(field, path, maxPath); err != nil {
			return err
		}
		if len(values) > maxValues {
			return fmt.Errorf("%s: path %q has %d values, the limit is %d", field, path, len(values), maxValues)
		}
		for _, v := range values {
			if raw, err := base64.RawURLEncoding.DecodeString(v); err != nil || len(raw) != digestBytes {
				return fmt.Errorf("%s: path %q: %w", field, path, errDigest)
			}
		}
		slices.Sort(values)
		d[path] = slices.Compact(values)
	}
	return nil
}

var errDigest = errors.New("a digest is 12 characters of base64url, made by the program that stores it")

// fit drops the digests of an episode that is too large with them to be stored, the results' first, and
// returns its size.
func (e *Episode) fit() int {
	n := len(Canonical(*e))
	for _, drop := range []func(*Step){func(s *Step) { s.Outputs = nil }, func(s *Step) { s.Inputs = nil }} {
		if n <= maxEntry {
			break
		}
		for i := range e.Steps {
			drop(&e.Steps[i])
		}
		n = len(Canonical(*e))
	}
	return n
}
