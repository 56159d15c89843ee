package live

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/catalog"
	"waymark/episodic"
	"waymark/storage"
)

// world is a seeded synthetic workspace of any size: tools in groups of about a hundred, each group
// with words of its own; how often a tool is used falls as 1/(rank+20) within its group and groups
// likewise; a step stays with its group nine times of ten. There is a capability for every ten
// tools, three quarters of its tools from one group.
type world struct {
	tools, capabilities int
	r                   *rand.Rand
	words               [][]string // by group
}

const groupSize = 100

var verbs = strings.Fields("read write list search create delete update send fetch merge deploy restart scale query export import")

func newWorld(tools int) *world {
	w := &world{tools: tools, capabilities: tools / 10, r: rand.New(rand.NewPCG(1, uint64(tools)))}
	syllables := strings.Fields("ba co di fe gu ha jo ki la me no pa qui ro su ta ve wi xa zo bra cle dri flo gra")
	for range (tools + groupSize - 1) / groupSize {
		own := make([]string, 12)
		for i := range own {
			for range 3 {
				own[i] += syllables[w.r.IntN(len(syllables))]
			}
		}
		w.words = append(w.words, own)
	}
	return w
}

// rank draws from 0..n-1 with a probability of about 1/(rank+20).
func (w *world) rank(n int) int {
	x := 20.0
	for range 1 + w.r.IntN(2) { // the product of one or two uniform numbers: a long tail and a long head
		x *= float64(n+20) / 20
		x = 20 + float64((x-20)*w.r.Float64())
	}
	return min(n-1, int(x)-20)
}

func (w *world) group() int        { return w.rank(len(w.words)) }
func (w *world) word(g int) string { return w.words[g][w.r.IntN(len(w.words[g]))] }
func (w *world) verb() string      { return verbs[w.r.IntN(len(verbs))] }
func (w *world) toolOf(g int) int  { return min(w.tools-1, g*groupSize+w.rank(groupSize)) }
func (w *world) id(tool int) string {
	return "server" + strconv.Itoa(tool/15) + ":tool_" + strconv.Itoa(tool)
}

func (w *world) tool(i int) catalog.Tool {
	g := i / groupSize
	noun := w.word(g)
	return catalog.Tool{
		ID: w.id(i), Name: w.verb() + "_" + noun,
		Description: fmt.Sprintf("Lets you %s one %s of a %s by its %s, also with %s.", w.verb(), noun, w.word(g), w.word(g), w.word(w.group())),
		InputSchema: fmt.Appendf(nil, `{"type":"object","properties":{"%s_id":{"type":"string"},"query":{"type":"string"}},"required":["%s_id"]}`, noun, noun),
	}
}

func (w *world) capability(i int) catalog.Capability {
	g := w.r.IntN(len(w.words))
	var uses []string
	for range 2 + w.r.IntN(7) {
		t := w.toolOf(g)
		if w.r.IntN(4) == 0 {
			t = w.r.IntN(w.tools)
		}
		uses = append(uses, w.id(t))
	}
	slices.Sort(uses)
	return catalog.Capability{ID: "cap:" + strconv.Itoa(i), Description: w.verb() + " the " + w.word(g) + " of a " + w.word(g), Tools: slices.Compact(uses)}
}

func (w *world) episode(i, steps int) episodic.Episode {
	g := w.group()
	e := episodic.Episode{
		ID: strconv.Itoa(i), Source: "bench", Outcome: episodic.Success, Time: time.Unix(1_700_000_000+int64(i)*10, 0).UTC(),
		Intent: fmt.Sprintf("please %s the %s and then the %s of the %s", w.verb(), w.word(g), w.word(g), w.word(g)),
	}
	at := w.toolOf(g)
	for range steps {
		o := episodic.Unknown
		if w.r.IntN(4) > 0 {
			o = episodic.Success
		}
		e.Steps = append(e.Steps, episodic.Step{Tool: w.id(at), Outcome: o})
		switch p := w.r.IntN(20); {
		case p < 8: // a habit: the tools that usually come next
			at = min(w.tools-1, at/groupSize*groupSize+(at*7+1+w.r.IntN(3))%groupSize)
		case p < 18:
			at = w.toolOf(at / groupSize)
		default:
			at = w.toolOf(w.group())
		}
	}
	return e
}

// write fills a log with the catalog and so many episodes, as an import leaves it.
func (w *world) write(t testing.TB, log testLog, episodes, steps int) {
	t.Helper()
	records := make([]storage.Record, 0, 1000)
	flush := func() {
		_, err := log.Append(ctx, records)
		require.NoError(t, err)
		records = records[:0]
	}
	add := func(kind byte, key string, v any) {
		payload, err := encode(kind, v)
		require.NoError(t, err)
		if records = append(records, storage.Record{Key: key, Payload: payload}); len(records) == cap(records) {
			flush()
		}
	}
	for i := range w.tools {
		tool := w.tool(i)
		require.NoError(t, tool.Normalise())
		add(kindTool, "", &tool)
	}
	for i := range w.capabilities {
		c := w.capability(i)
		require.NoError(t, c.Normalise())
		add(kindCapability, "", &c)
	}
	for i := range episodes {
		e := w.episode(i, steps)
		require.NoError(t, e.Normalise())
		add(kindEpisode, "episode/"+e.ID, &e)
	}
	add(kindBuild, "", build{Parent: "none"})
	flush()
}
