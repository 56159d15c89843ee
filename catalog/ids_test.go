package catalog

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestResolve(t *testing.T) {
	known := []string{
		"github:search_issues", "fs:read", "a:b__c", "a__b:c", "retail.calculate", "bing-cn-mcp/bing_search",
		"my server:do it", "gmail:send", "solo", "x.y:z", "x:y.z", "mcp:ping", "Fs:read", "p q:r", "p/q:r",
	}
	r := NewResolver(known, Aliases{})
	for _, tt := range []struct {
		why, spelling, want string
		candidates          []string
	}{
		{"canonical", "github:search_issues", "github:search_issues", nil},
		// The four other spellings of design section 1.
		{"host", "mcp__github__search_issues", "github:search_issues", nil},
		{"underscores", "github__search_issues", "github:search_issues", nil},
		{"dot", "github.search_issues", "github:search_issues", nil},
		{"slash", "github/search_issues", "github:search_issues", nil},
		{"exact before any alias", "retail.calculate", "retail.calculate", nil},
		{"exact before any alias", "bing-cn-mcp/bing_search", "bing-cn-mcp/bing_search", nil},
		{"a dash never separates", "github-search_issues", "github-search_issues", nil},
		{"a bare name is no spelling", "search_issues", "search_issues", nil},
		{"case-sensitive", "mcp__Fs__read", "Fs:read", nil},
		{"case-sensitive", "FS.read", "FS.read", nil},
		{"unknown stays", "jira.create", "jira.create", nil},
		{"unknown stays", "jira__create", "jira__create", nil},
		{"the host prefix always means server and name", "mcp__jira__create", "jira:create", nil},
		{"first __ splits an unknown name", "mcp__jira__create__now", "jira:create__now", nil},
		{"the catalog decides the split", "mcp__a__b__c", "", []string{"a:b__c", "a__b:c"}},
		{"ambiguous", "a__b__c", "", []string{"a:b__c", "a__b:c"}},
		{"ambiguous over two places of a dot", "x.y.z", "", []string{"x.y:z", "x:y.z"}},
		{"characters a host replaced", "mcp__my_server__do_it", "my server:do it", nil},
		{"replaced ones may collide", "p_q__r", "", []string{"p q:r", "p/q:r"}},
		{"no name after the prefix", "mcp__ping", "mcp:ping", nil},
		{"no name, unknown", "mcp__nothing", "mcp__nothing", nil},
		{"empty", "", "", nil},
		{"only separators", "mcp____", "mcp____", nil},
	} {
		got, err := r.Resolve(tt.spelling)
		if tt.candidates != nil {
			var ambiguous *AmbiguousError
			require.ErrorAs(t, err, &ambiguous, "%s: %s", tt.why, tt.spelling)
			assert.Equal(t, tt.candidates, ambiguous.Candidates, tt.why)
			assert.Contains(t, err.Error(), tt.candidates[0])
			continue
		}
		require.NoError(t, err, "%s: %s", tt.why, tt.spelling)
		assert.Equal(t, tt.want, got, "%s: %s", tt.why, tt.spelling)
	}
}

func TestHostName(t *testing.T) {
	for _, tt := range []struct {
		id, want string
		hashed   bool
	}{
		{"github:search_issues", "github__search_issues", false},
		{"Bash", "Bash", false},
		{"my server:do", "my_server__do-", true},
		{"a:b__c", "a__b__c-", true},
		{"a__b", "a__b-", true},
		{"mcp:x", "mcp__x-", true},
		{"weather-0123456789ab", "weather-0123456789ab-", true}, // looks like a hash
		{strings.Repeat("s", 40) + ":" + strings.Repeat("n", 40), strings.Repeat("s", 40) + "__" + strings.Repeat("n", 9) + "-", true},
		{"天气:查询", "______", true},
	} {
		got := HostName(tt.id)
		assert.Equal(t, tt.hashed, Hashed(got), tt.id)
		assert.Regexp(t, `^[A-Za-z0-9_-]{1,64}$`, got)
		if tt.hashed {
			assert.True(t, strings.HasPrefix(got, tt.want), "%s → %s", tt.id, got)
		} else {
			assert.Equal(t, tt.want, got)
		}
		back, err := NewResolver([]string{tt.id}, Aliases{}).Resolve(got)
		require.NoError(t, err)
		assert.Equal(t, tt.id, back)
	}
}

// Law: in a catalog of one tool every spelling of it means it.
func TestSpellingsOfOneTool(t *testing.T) {
	part := rapid.StringMatching(`[A-Za-z0-9][A-Za-z0-9 ._/-]{0,30}|[a-z]+__[a-z]+|_x_`)
	rapid.Check(t, func(t *rapid.T) {
		id := ID(part.Draw(t, "server"), part.Draw(t, "name"))
		r := NewResolver([]string{id}, Aliases{})
		for _, s := range spellings(id) {
			got, err := r.Resolve(s)
			if err != nil || got != id {
				t.Fatalf("%q resolves to %q (%v), want %q", s, got, err, id)
			}
		}
	})
}

// Law: in any catalog a spelling means its tool, or is the id of another, or is called ambiguous with
// the tool among the candidates; a host name always means its tool; the order of ids does not matter.
func TestSpellingsInACatalog(t *testing.T) {
	part := rapid.StringMatching(`[ab][ab_. /]{0,3}`)
	id := rapid.Custom(func(t *rapid.T) string {
		if rapid.Bool().Draw(t, "bare") {
			return part.Draw(t, "name")
		}
		return ID(part.Draw(t, "server"), part.Draw(t, "name"))
	})
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOfNDistinct(id, 1, 12, rapid.ID).Draw(t, "ids")
		r, known := NewResolver(ids, Aliases{}), map[string]bool{}
		for _, id := range ids {
			known[id] = true
		}
		shuffled := NewResolver(rapid.Permutation(ids).Draw(t, "order"), Aliases{})
		names := map[string]string{}
		for _, id := range ids {
			h := HostName(id)
			if other, taken := names[h]; taken {
				t.Fatalf("%q and %q have one host name %q", id, other, h)
			}
			names[h] = id
			for _, s := range spellings(id) {
				got, err := r.Resolve(s)
				again, errAgain := shuffled.Resolve(s)
				if got != again || fmt.Sprint(err) != fmt.Sprint(errAgain) {
					t.Fatalf("%q: order matters", s)
				}
				var ambiguous *AmbiguousError
				switch {
				case known[s]:
					if got != s {
						t.Fatalf("%q is an id, resolves to %q", s, got)
					}
				case errors.As(err, &ambiguous):
					if s == h {
						t.Fatalf("host name %q of %q: %v", s, id, err)
					}
					if !slices.Contains(ambiguous.Candidates, id) {
						t.Fatalf("%q: %v misses %q", s, err, id)
					}
				case got != id:
					t.Fatalf("%q resolves to %q, want %q", s, got, id)
				}
			}
		}
	})
}

func FuzzResolve(f *testing.F) {
	f.Add("mcp__a__b__c", "a:b__c")
	f.Add("a.b", "a:b")
	f.Add("mcp__", ":")
	f.Fuzz(func(t *testing.T, spelling, id string) {
		r := NewResolver([]string{id}, Aliases{})
		if got, err := r.Resolve(id); err != nil || got != id {
			t.Fatalf("%q resolves to %q, %v", id, got, err)
		}
		if got, err := r.Resolve(HostName(id)); err != nil || got != id {
			t.Fatalf("host name %q of %q resolves to %q, %v", HostName(id), id, got, err)
		}
		_, _ = r.Resolve(spelling)
	})
}

// spellings lists the ways in which hosts and logs write an id, the canonical one first.
func spellings(id string) []string {
	all := []string{id}
	if server, name, ok := Split(id); ok {
		all = append(all, hostPrefix+server+"__"+name)
		for _, sep := range separators {
			all = append(all, server+sep+name)
		}
	}
	if h := HostName(id); !slices.Contains(all, h) {
		all = append(all, h)
	}
	return all
}
