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

// Limits on the digests of one document. The first few items of a list show where a value comes from as
// well as all thousand do.
const (
	maxPaths    = 32        // paths, in order
	maxValues   = 16        // distinct values of one path, in the order of the document
	maxDigests  = 128       // values of all paths
	maxDocument = 256 << 10 // bytes
	maxText     = 256       // bytes of a plain result
	maxPath     = 256       // bytes
	maxDepth    = 8
	minText     = 3   // characters; shorter texts occur everywhere
	minNumber   = 100 // smaller absolute values occur everywhere
	maxNumber   = 1e39
	digestBytes = 9
)

// DigestKey is the HMAC key for the digests of values. Each workspace has its own.
type DigestKey [32]byte

// Digests returns the digests of the scalar values of a JSON document, by path, or nil if there are none. A
// path joins the names of the enclosing fields and has [] for any item of a list:
//
//	{"user":{"login":"ann"},"items":[{"id":"i-17"},{"id":"i-18"}]}   →  items[].id, user.login
//
// Booleans, null, texts of fewer than 3 characters and numbers between -100 and 100 have no digest, because
// they are often equal by chance. A number has the digest of its text, so that 1017 matches "1017". A field
// name that does not look like a name may be a value and is written as *. Invalid JSON has no digests. Only
// the first 256 KiB of a document are read.
func (k DigestKey) Digests(document json.RawMessage) Digests {
	w := k.digester()
	if !w.document(document) {
		return nil
	}
	return w.found
}

// Content returns the digests of the result of a tool: a text, or the texts among MCP content blocks. A
// text that is a JSON object or list is read as a document; any other text is one value with an empty path.
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
	return w.found
}

// Texts returns the texts of a tool result in a form that hosts write: one text, or content blocks with texts. Any
// other form has none.
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
	found Digests // nil: none
	n     int
}

func (k DigestKey) digester() *digester {
	return &digester{mac: hmac.New(sha256.New, k[:])}
}

var errFull = errors.New("there is no space for more digests")

// document adds the digests of one document. It returns false if the document is not valid JSON.
func (w *digester) document(document []byte) bool {
	cut := len(document) > maxDocument
	dec := jsontext.NewDecoder(bytes.NewReader(document[:min(len(document), maxDocument)]), jsontext.AllowDuplicateNames(true))
	err := w.value(dec, "")
	return err == nil || errors.Is(err, errFull) || cut && errors.Is(err, io.ErrUnexpectedEOF)
}

// value adds the digests of the next value and of the values inside it.
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

// numberText returns the canonical text of a number: 1000 for 1e3. It returns false for numbers below minNumber, above
// maxNumber or of more than 40 characters.
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

// add stores a keyed hash of a value, truncated to digestBytes: equal values can be recognised, and no value can
// be read or guessed without the key. A path stores each distinct value once.
func (w *digester) add(path, text string) {
	values, known := w.found[path]
	if len(values) >= maxValues || !known && len(w.found) >= maxPaths {
		return
	}
	w.mac.Reset()
	w.mac.Write([]byte(text))
	d := base64.RawURLEncoding.EncodeToString(w.mac.Sum(nil)[:digestBytes])
	if w.found == nil {
		w.found = Digests{}
	}
	if !slices.Contains(values, d) {
		w.found[path] = append(values, d)
		w.n++
	}
}

// fieldName returns the name of a JSON field in the form that may be stored. A name that does not look like
// one (it holds a space, an address, a path) may be a value used as a key and is replaced by *.
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

// normalise checks digests that come from outside, and sorts and deduplicates the values of each path.
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

// fit drops the digests if the episode is too large to be stored with them. It returns the size of the episode in
// bytes.
func (e *Episode) fit() int {
	n := len(Canonical(*e))
	if n <= maxEntry {
		return n
	}
	for i := range e.Steps {
		e.Steps[i].Inputs, e.Steps[i].Outputs = nil, nil
	}
	return len(Canonical(*e))
}
