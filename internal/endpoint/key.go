package endpoint

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"unicode/utf8"
)

// Key is an API key. It never prints.
type Key string

func (Key) String() string               { return "[key]" }
func (Key) GoString() string             { return "[key]" }
func (Key) MarshalText() ([]byte, error) { return []byte("[key]"), nil }

// Redact shortens a message to 300 bytes on one line and takes the key out: endpoints like to repeat it.
func (k Key) Redact(message string) string {
	if k != "" {
		message = strings.ReplaceAll(message, string(k), "[key]")
	}
	message = strings.Join(strings.Fields(strings.ToValidUTF8(message, "?")), " ")
	if len(message) > 300 {
		message = Cut(message, 300) + "…"
	}
	return message
}

// Cut shortens text to at most n bytes without splitting a character.
func Cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// CheckBaseURL reports what is wrong with the base URL of an endpoint: scheme, host and a version path,
// and nothing that a secret could hide in.
func CheckBaseURL(base string) error {
	u, err := url.Parse(base)
	switch {
	case err != nil:
		return errors.New("base URL cannot be parsed") // the error would repeat the URL
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return errors.New("base URL needs http or https and a host, as in http://127.0.0.1:11434/v1")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return errors.New("base URL must not carry a user, a query or a fragment")
	case strings.Trim(u.Path, "/") == "":
		return fmt.Errorf("base URL %s has no version path such as /v1", base)
	}
	if err := CheckHost(u.Hostname(), true); err != nil {
		return fmt.Errorf("base URL %s: %w", base, err)
	}
	return nil
}
