// Package redact finds secrets in texts: keys of known services, bearer tokens, private keys, passwords in URLs and in
// assignments.
package redact

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// Mark replaces a secret.
const Mark = "[redacted]"

// A pattern finds one kind of secret: the last group of expr, or its whole match if it has no group. The lower-case
// form of every text that expr matches contains one of hints, so that most texts need no regular expression.
type pattern struct {
	hints []string
	expr  *regexp.Regexp
	real  func(secret string) bool // nil: every match is a secret
}

var patterns = []pattern{
	{[]string{"private key"}, regexp.MustCompile(`(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)`), nil},
	{[]string{"akia", "asia"}, regexp.MustCompile(`\b(?:AKIA|ASIA)[0-9A-Z]{16}\b`), nil},
	{[]string{"aws"}, regexp.MustCompile(`(?i)aws.{0,20}(?:secret|key).{0,20}?[=: "']([A-Za-z0-9/+]{40})\b`), hasDigit},
	{[]string{"gh", "github_pat_"}, regexp.MustCompile(`\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{40,})`), nil},
	{[]string{"glpat-"}, regexp.MustCompile(`\bglpat-[A-Za-z0-9_-]{20,}`), nil},
	{[]string{"sk-", "sk_", "rk_"}, regexp.MustCompile(`\b(?:sk-[A-Za-z0-9_-]{20,}|[sr]k_(?:live|test)_[A-Za-z0-9]{16,})`), hasDigit},
	{[]string{"xox"}, regexp.MustCompile(`\bxox[abeoprs]-[A-Za-z0-9-]{10,}`), nil},
	{[]string{"aiza"}, regexp.MustCompile(`\bAIza[0-9A-Za-z_-]{35}`), nil},
	{[]string{"npm_", "hf_", "pypi-", "dop_v1_", "sg."}, regexp.MustCompile(`\b(?:npm_[A-Za-z0-9]{36}|hf_[A-Za-z0-9]{30,}|pypi-[A-Za-z0-9_-]{50,}|dop_v1_[a-f0-9]{64}|SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,})`), nil},
	{[]string{"wmk_"}, regexp.MustCompile(`\bwmk_[A-Za-z0-9]+_[A-Za-z0-9_-]{16,}`), nil},
	{[]string{"eyj"}, regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?`), nil},
	{[]string{"bearer", "basic"}, regexp.MustCompile(`(?i)\b(?:bearer|authorization:\s*basic)\s+([A-Za-z0-9._~+/-]{16,}=*)`), hasDigit},
	{[]string{"://"}, regexp.MustCompile(`\b[A-Za-z][A-Za-z0-9+.-]*://[^\s/:@?#]*:([^\s/@?#]+)@`), nil},
	{[]string{"key", "token", "secret", "passw", "pwd", "credential"},
		regexp.MustCompile(`(?i)(?:^|[^A-Za-z])(?:[a-z0-9]+[_-])*(?:api[_-]?key|access[_-]?key|secret[_-]?key|auth[_-]?token|access[_-]?token|token|secret|password|passwd|pwd)(?:\\*["'])?\s*[=:]\s*(?:\\*["'])?([^\s"',;&<>(){}\[\]]{7,}[^\s"',;&<>(){}\[\]\\])`), hasDigit},
}

// hasDigit distinguishes a secret from a word, where only the context suggests a secret: a text with a digit counts as
// one, unless it begins with $, as a variable does.
func hasDigit(s string) bool {
	return strings.ContainsAny(s, "0123456789") && !strings.HasPrefix(s, "$")
}

// Text returns a text with each secret replaced by Mark.
func Text(text string) string {
	lower := ""
	for _, p := range patterns {
		if lower == "" {
			lower = strings.ToLower(text)
		}
		if !p.hinted(lower) {
			continue
		}
		if masked := p.mask(text); masked != text {
			text, lower = masked, ""
		}
	}
	return text
}

// Cut shortens a text with the function cut. If the text is too long, secrets are masked first, because the beginning
// of a secret could not be recognized afterwards.
func Cut(text string, limit int, cut func(text string, limit int) string) string {
	const reach = 4 << 10 // how far beyond the cut a secret is looked for
	if text = cut(text, limit+reach); len(text) > limit {
		text = cut(Text(text), limit)
	}
	return text
}

// hinted is the cheap test before a regular expression: most texts have no hint of a secret.
func (p *pattern) hinted(lower string) bool {
	return slices.ContainsFunc(p.hints, func(hint string) bool { return strings.Contains(lower, hint) })
}

// mask replaces the last group of each match, which is the secret, and keeps the text that names it. Text that is
// already masked does not change, so masking twice changes nothing.
func (p *pattern) mask(text string) string {
	var b strings.Builder
	end := 0
	for _, at := range p.expr.FindAllStringSubmatchIndex(text, -1) {
		from, to := at[len(at)-2], at[len(at)-1]
		if secret := text[from:to]; secret == Mark || p.real != nil && !p.real(secret) {
			continue
		}
		b.WriteString(text[end:from])
		b.WriteString(Mark)
		end = to
	}
	b.WriteString(text[end:])
	return b.String()
}

var secretName = regexp.MustCompile(`(?i)(?:^|[^a-z])(?:key|apikey|token|secret|password|passwd|pwd|credentials?|auth|authorization|bearer)$`)

// Names reports whether the name of an option, a variable or a parameter suggests that its value is a secret.
func Names(name string) bool { return secretName.MatchString(name) }

// URL returns a URL without secrets, such as the values of parameters that are named like secrets.
func URL(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.RawQuery == "" {
		return Text(text)
	}
	parts := strings.Split(u.RawQuery, "&")
	for i, part := range parts {
		if name, _, assigned := strings.Cut(part, "="); assigned && Names(name) {
			parts[i] = name + "=" + Mark
		}
	}
	u.RawQuery = strings.Join(parts, "&")
	return Text(u.String())
}
