package catalog

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// ID returns the canonical id of a tool of a server. A tool without a server keeps its name.
func ID(server, name string) string {
	if server == "" {
		return name
	}
	return server + ":" + name
}

// Split splits the id of a server's tool at the first colon. ok is true only if both parts are present.
// The ids of a data set may contain colons without a meaning: use Split only for ids that come from
// servers.
func Split(id string) (server, name string, ok bool) {
	server, name, ok = strings.Cut(id, ":")
	return server, name, ok && server != "" && name != ""
}

// separators between server and name, other than the canonical colon, that hosts and logs use.
var separators = []string{"__", ".", "/"}

// hostPrefix marks a server's tool in the names that hosts assign: it is always followed by a server
// and a name.
const hostPrefix = "mcp__"

// FromHost returns server:name for mcp__server__name, and any other spelling unchanged.
func FromHost(spelling string) string {
	rest, host := strings.CutPrefix(spelling, hostPrefix)
	if server, name, ok := strings.Cut(rest, "__"); host && ok && server != "" && name != "" {
		return ID(server, name)
	}
	return spelling
}

// AmbiguousError reports that a spelling may mean several tools. The resolver never guesses.
type AmbiguousError struct {
	Spelling   string
	Candidates []string // sorted
}

func (e *AmbiguousError) Error() string {
	return fmt.Sprintf("%q may mean any of %q", e.Spelling, e.Candidates)
}

// Aliases maps ids to the ids that replace them. The zero value has none.
type Aliases struct {
	ids     map[string]string
	servers map[string]string // old server name → new one, for all tools of the server
}

// EveryTool is the suffix of an alias for a whole server, "server:*".
const EveryTool = ":*"

// NewAliases takes pairs of an alias and the id that replaces it, or of "old:*" and "new:*" for all
// tools of a server. An alias may refer to another alias. A cycle is an error.
func NewAliases(pairs [][2]string) (Aliases, error) {
	a := Aliases{map[string]string{}, map[string]string{}}
	for _, p := range pairs {
		from, all := strings.CutSuffix(p[0], EveryTool)
		if to, other := strings.CutSuffix(p[1], EveryTool); all != other || from == to {
			return a, fmt.Errorf("%q cannot stand for %q: want two different tools, or two servers as old:* and new:*", p[0], p[1])
		} else if all {
			a.servers[from] = to
		} else {
			a.ids[from] = to
		}
	}
	for _, p := range pairs {
		if _, ends := a.follow(p[0]); !ends {
			return a, fmt.Errorf("%q would stand for itself, through %q", p[0], p[1])
		}
	}
	return a, nil
}

// None reports whether there are no aliases.
func (a Aliases) None() bool { return len(a.ids)+len(a.servers) == 0 }

// Of returns the id that replaces an id, or the id itself if it is not an alias.
func (a Aliases) Of(id string) string {
	if a.None() {
		return id
	}
	id, _ = a.follow(id)
	return id
}

func (a Aliases) follow(id string) (last string, ends bool) {
	for range len(a.ids) + len(a.servers) + 1 {
		to, ok := a.ids[id]
		if server, name, named := Split(id); !ok && named {
			if to, ok = a.servers[server]; ok {
				to = ID(to, name)
			}
		}
		if !ok {
			return id, true
		}
		id = to
	}
	return id, false
}

// Resolver maps spellings to canonical ids. It is immutable and safe for concurrent use.
//
//	exact id                          itself, always
//	mcp__server__name                 server:name, known or not
//	server__name, server.name, …      the one known tool it can mean
//	anything else                     itself: a tool observed before any catalog names it
//
// Ids are opaque and case-sensitive.
type Resolver struct {
	aliases Aliases
	known   map[string]bool     // including aliases
	spelled map[string][]string // names that hosts form by replacing characters or adding a hash → ids
}

// NewResolver returns a resolver for the given ids, in any order, and their aliases.
func NewResolver(ids []string, aliases Aliases) *Resolver {
	r := &Resolver{aliases, map[string]bool{}, map[string][]string{}}
	for _, id := range aliases.with(ids) {
		if r.known[id] {
			continue
		}
		r.known[id] = true
		if h := HostName(id); Hashed(h) {
			r.spelled[h] = append(r.spelled[h], id)
		}
		if server, name, ok := Split(id); ok {
			plain := server + "__" + name
			if s := sanitise(plain); s != plain {
				r.spelled[s] = append(r.spelled[s], id)
			}
		}
	}
	return r
}

// with returns the ids and their aliases, so that every spelling of an alias is known, too.
func (a Aliases) with(ids []string) []string {
	if a.None() {
		return ids
	}
	all := slices.Concat(ids, slices.Sorted(maps.Keys(a.ids)))
	for _, old := range slices.Sorted(maps.Keys(a.servers)) {
		for _, id := range ids {
			if server, name, ok := Split(id); ok && server == a.servers[old] {
				all = append(all, ID(old, name))
			}
		}
	}
	return all
}

// Resolve returns the id that a spelling means. An unknown spelling is returned unchanged, except that
// mcp__server__name always becomes server:name. If several tools are possible, the error is an
// [*AmbiguousError].
func (r *Resolver) Resolve(spelling string) (id string, err error) {
	if r.known[spelling] {
		return r.aliases.Of(spelling), nil
	}
	var ids []string
	asHost := FromHost(spelling)
	if asHost != spelling {
		rest := spelling[len(hostPrefix):]
		if ids = r.read(rest, "__"); len(ids) == 0 {
			ids = r.spelled[rest]
		}
	} else {
		for _, sep := range separators {
			ids = append(ids, r.read(spelling, sep)...)
		}
	}
	if len(ids) == 0 {
		ids = r.spelled[spelling]
	}
	if len(ids) == 0 {
		return r.aliases.Of(asHost), nil
	}
	return r.one(spelling, ids)
}

// read returns the known tools that s means if some occurrence of sep separates server and name.
func (r *Resolver) read(s, sep string) (ids []string) {
	for i := 1; i+len(sep) < len(s); i++ {
		if strings.HasPrefix(s[i:], sep) {
			if id := ID(s[:i], s[i+len(sep):]); r.known[id] {
				ids = append(ids, id)
			}
		}
	}
	return ids
}

func (r *Resolver) one(spelling string, ids []string) (string, error) {
	ids = slices.Clone(ids)
	for i := range ids {
		ids[i] = r.aliases.Of(ids[i])
	}
	slices.Sort(ids)
	if ids = slices.Compact(ids); len(ids) > 1 {
		return "", &AmbiguousError{spelling, ids}
	}
	return ids[0], nil
}

const (
	// hostLimit is the maximum length of a tool name, of [A-Za-z0-9_-], in the common model APIs.
	hostLimit = 64
	hashLen   = 12 // hexadecimal digits, 48 bits
)

// HostName returns a name for the tool that every host accepts: at most 64 of A-Z a-z 0-9 _ -, written
// server__name. If that would be too long, lose a character or be ambiguous, it ends in a hash of the
// id, so that different ids have different host names and [Resolver.Resolve] can map them back.
func HostName(id string) string {
	plain := id
	server, name, ok := Split(id)
	if ok {
		plain = server + "__" + name
	}
	clean := sanitise(plain)
	splits := strings.Count(clean, "__") + strings.Count(clean, "___") // positions at which a reader could split it
	unique := clean == plain && !Hashed(clean) && server != "mcp" && (ok && splits == 1 || !ok && splits == 0)
	if unique && clean != "" && len(clean) <= hostLimit {
		return clean
	}
	sum := sha256.Sum256([]byte(id))
	hash := hex.EncodeToString(sum[:])[:hashLen]
	return clean[:min(len(clean), hostLimit-1-hashLen)] + "-" + hash
}

// Hashed reports whether a host name ends like one with a hash, so that only a resolver that knows the
// id can resolve it.
func Hashed(h string) bool {
	i := len(h) - 1 - hashLen
	return i >= 0 && h[i] == '-' && strings.Trim(h[i+1:], "0123456789abcdef") == ""
}

// sanitise replaces, byte by byte, characters that hosts do not allow in a name.
func sanitise(s string) string {
	b := []byte(s)
	for i, c := range b {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-') {
			b[i] = '_'
		}
	}
	return string(b)
}
