package contribution

import (
	_ "embed"
	"sync"

	"waymark/score/rubric"
)

//go:embed tables.yaml
var tablesSource []byte

// tables are the rows that the code goes by.
// They are read when they are first needed: most commands never do.
var tables = sync.OnceValue(func() tableSet { return rubric.MustDecode[tableSet](tablesSource) })

type tableSet struct {
	Roles map[Role]struct {
		Criteria  []string `json:"criteria"`
		Operators []string `json:"operators"`
	} `json:"roles"`
	Operators []operator          `json:"operators"`
	Sections  map[Section]layout  `json:"sections"`
	Phrases   map[string][]string `json:"phrases"`
	Patterns  map[string]string   `json:"patterns"`
}
