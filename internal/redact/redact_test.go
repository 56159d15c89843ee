package redact

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"waymark/catalog"
)

// The secrets are made of parts, so that nobody who scans this repository takes them for real ones.
func TestText(t *testing.T) {
	alnum := strings.Repeat("aB3dE6", 10)
	for text, want := range map[string]string{
		"use AKIA" + "IOSFODNN7EXAMPLE now":                                        "use [redacted] now",
		"aws_secret_access_key = " + alnum[:40]:                                    "aws_secret_access_key = [redacted]",
		"push with ghp_" + alnum[:36]:                                              "push with [redacted]",
		"github_pat_" + alnum[:50]:                                                 "[redacted]",
		"key sk-" + alnum[:30] + ", sk-ant-api03-" + alnum[:40] + ".":              "key [redacted], [redacted].",
		"xoxb-" + "123456789012-abc":                                               "[redacted]",
		"AIza" + alnum[:35]:                                                        "[redacted]",
		"Authorization: Bearer " + alnum[:24]:                                      "Authorization: Bearer [redacted]",
		"wmk_ab12_" + alnum[:32]:                                                   "[redacted]",
		"eyJ" + alnum[:20] + ".eyJ" + alnum[:30] + "." + alnum[:20]:                "[redacted]",
		"clone https://me:s3cr3t@example.org/x.git":                                "clone https://me:[redacted]@example.org/x.git",
		"postgres://app:hunter@db/prod fails":                                      "postgres://app:[redacted]@db/prod fails",
		`{"password": "correct-horse-1"}`:                                          `{"password": "[redacted]"}`,
		`{"body":"{\"password\":\"hunter22222\",\"n\":1}"}`:                        `{"body":"{\"password\":\"[redacted]\",\"n\":1}"}`,
		`\\\"api_key\\\": \\\"0123456789ab\\\"`:                                    `\\\"api_key\\\": \\\"[redacted]\\\"`,
		`password=do\main12`:                                                       `password=[redacted]`,
		"DB_PASSWORD=abc12345 make":                                                "DB_PASSWORD=[redacted] make",
		"?api_key=0123456789ab&q=1":                                                "?api_key=[redacted]&q=1",
		"-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY----- and": "[redacted] and",
		"-----BEGIN PRIVATE KEY-----\nMIIE":                                        "[redacted]",

		`{\"token\":\"see the documentation\"}`:                    "",
		"reset the password of user 12345678":                      "",
		"explain bearer authentication":                            "",
		"add a token: see the documentation":                       "",
		"export TOKEN=$GITHUB_TOKEN_2":                             "",
		"open https://example.org:8080/a@b":                        "",
		"sort by key: created_at":                                  "",
		"the sk-learn pipeline, task-based-approach-to-everything": "",
	} {
		if want == "" {
			want = text
		}
		assert.Equal(t, want, Text(text))
		assert.Equal(t, want, Text(Text(text)), "redacting twice changes nothing")
	}
}

func TestNames(t *testing.T) {
	for name, want := range map[string]bool{
		"--token": true, "--api-key": true, "GITHUB_TOKEN": true, "apikey": true, "--password": true, "Authorization": true,
		"--keys-file": false, "--keyboard": false, "monkey": false, "--port": false, "": false,
	} {
		assert.Equal(t, want, Names(name), name)
	}
	assert.Equal(t, "https://example.org/mcp?key=[redacted]&team=1", URL("https://example.org/mcp?key=abc&team=1"))
}

// A secret is masked wherever the cut goes through it; texts without one are cut as they are.
func TestCut(t *testing.T) {
	const limit = 100
	key, password := "AKIA"+"IOSFODNN7EXAMPLE", "hunter2hunter2"
	for _, secret := range []string{key, "-----BEGIN PRIVATE KEY-----\n" + strings.Repeat("MIIE2", 2000), "https://me:" + password + "@example.org"} {
		for n := range limit {
			got := Text(Cut(strings.Repeat("y", n)+" "+secret+" "+key+" zzz", limit, catalog.Cut))
			assert.LessOrEqual(t, len(got), limit+len(Mark))
			for _, part := range []string{"AKIA", "MIIE2", "hunter"} {
				assert.NotContains(t, got, part, n)
			}
		}
	}
	for _, text := range []string{"short", strings.Repeat("é\x01 ", 5000), strings.Repeat("ab", 40) + strings.Repeat(" ", 9000) + "x", ""} {
		assert.Equal(t, catalog.Cut(text, limit), Cut(text, limit, catalog.Cut))
	}
}
