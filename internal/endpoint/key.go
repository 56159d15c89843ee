package endpoint

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	"waymark/internal/redact"
)

// Key is an API key. Its value is never printed.
type Key string

func (Key) String() string               { return "[key]" }
func (Key) GoString() string             { return "[key]" }
func (Key) MarshalText() ([]byte, error) { return []byte("[key]"), nil }

// Summary returns the reason why there was no answer, without secrets and without the address, which callers need not
// know.
func (k Key) Summary(err error) string {
	var (
		name *net.DNSError
		op   *net.OpError
		on   *url.Error
	)
	switch {
	case errors.As(err, &name):
		return "the name of the endpoint is not resolved: " + name.Err
	case errors.As(err, &op):
		err = fmt.Errorf("connection to the endpoint failed: %w", op.Err)
	case errors.As(err, &on):
		err = on.Err
	}
	message := err.Error()
	if k != "" {
		message = strings.ReplaceAll(message, string(k), redact.Mark)
	}
	message = strings.Join(strings.Fields(strings.ToValidUTF8(redact.Text(message), "?")), " ")
	if len(message) > 200 {
		message = Cut(message, 200) + "…"
	}
	return message
}

// Cut shortens text to at most n bytes without splitting a character.
func Cut(text string, n int) string { return strings.ToValidUTF8(text[:min(len(text), n)], "") }

// CheckBaseURL checks the base URL of an endpoint. It needs a scheme, a host and a version path, and must not have any
// part that could contain a secret.
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
