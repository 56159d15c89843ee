package live

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"time"

	"waymark/storage"
	"waymark/suggest"
	"waymark/suggest/history"
)

// place is a position in the log: an event and the chain hash up to it.
type place struct {
	seq   uint64
	chain [32]byte
}

// foldedLog is a log folded up to some event.
type foldedLog struct {
	state    *history.State
	head     storage.Head // the last event seen
	rules    []Rule       // in effect, by id; never changed in place
	matter   place        // the last event that a model counts
	built    place        // the build event the measures come from
	how      build        // and how they were built
	measures *suggest.Measures
	builtAt  time.Time   // when they became active; it is in no log, which would give no two workspaces the same model
	refused  *refusal    // of a rebuild since built; nil: none
	since    int         // events that matter since built
	changed  bool        // the catalog changed since built, in more than tools that were put
	texts    int         // tools put or met for the first time since built: they are searched without a build
	tainted  bool        // something is counted that was forgotten since, or otherwise than rules about sources say now
	treated  uint64      // requests to forget and rules about sources up to this event are followed
	shot     snapshot    // of the build; without an image if there is no need
	later    *unfinished // the last build event after it, which is not active
}

// refusal is a rebuild that was not published.
type refusal struct {
	seq uint64 // its event
	how build
}

// unfinished is a build event and what was counted up to it.
type unfinished struct {
	snapshot
	counts *history.Counts
	since  int

	changed bool // what its start took over from the [foldedLog]
	texts   int
}

// model is the history as readers see it.
func (h *foldedLog) model() (*suggest.Model, error) {
	return suggest.NewModel(h.state.Freeze(), h.measures, suggest.Stamp{
		Version: h.version(), Seq: max(h.matter.seq, h.built.seq), BuiltAt: h.builtAt,
	})
}

// version names the model of a history: what was counted, and what was measured where and how.
func (h *foldedLog) version() string {
	w := sha256.New()
	w.Write(h.matter.chain[:])
	w.Write(binary.BigEndian.AppendUint64(nil, h.built.seq))
	w.Write(h.built.chain[:])
	options, err := encode(kindBuild, h.how)
	if err != nil {
		panic("live: build options cannot be encoded: " + err.Error()) // a plain struct
	}
	w.Write(options)
	return "sha256:" + hex.EncodeToString(w.Sum(nil))
}

// count folds one durable event.
func (h *foldedLog) count(e decodedEvent) {
	h.head = storage.Head{Seq: e.seq, Chain: e.chain}
	if b, ok := e.value.(*build); ok && b.Refused {
		h.refused = &refusal{e.seq, *b}
	}
	r, rule := e.value.(*ruled)
	if rule {
		h.rule(r)
	}
	if rule && r.Kind == RuleAlias {
		h.state.Alias(aliases(h.rules))
	}
	h.tainted = h.tainted || (rule && r.Source != "" || e.kind == kindForgotten) && e.seq > h.treated
	if !e.counts() {
		return
	}
	h.matter = e.place
	h.since++
	h.changed = h.changed || rule || slices.Contains([]byte{kindCapability, kindRemoved, kindForgotten}, e.kind)
	seen := h.state.Seen()
	fold(h.state, e.value)
	if met := h.state.Seen() - seen; e.kind == kindTool {
		h.texts++
	} else {
		h.texts += met
	}
}

// outline is what a first look at a log finds.
type outline struct {
	head      uint64
	built     uint64  // the last build event
	forgotten bool    // something was, and its payload erased in the transaction of the request
	treated   []ruled // rules about sources, in order
}

// look reads the log after an event without folding: builds and rules about sources must be known before the events
// they concern are counted. upTo 0 means the head.
func look(ctx context.Context, log reader, after, upTo uint64) (outline, error) {
	o := outline{head: after}
	for e, err := range log(ctx, after) {
		if err != nil {
			return o, fmt.Errorf("read the log: %w", err)
		}
		if upTo > 0 && e.Seq > upTo {
			break
		}
		o.head = e.Seq
		if !isKind(e, kindBuild, kindRule, kindForgotten) {
			continue
		}
		_, v, err := decode(e.Payload)
		if err != nil {
			return o, fmt.Errorf("event %d: %w", e.Seq, err)
		}
		switch v := v.(type) {
		case *build:
			if !v.Refused {
				o.built = e.Seq
			}
		case *ruled:
			if v.Source != "" {
				o.treated = append(o.treated, *v)
			}
		case *forgotten:
			o.forgotten = true
		}
	}
	return o, nil
}

// measurer computes the measures of a build.
type measurer func(ctx context.Context, c *history.Counts, b build, at uint64) (*suggest.Measures, error)

// lastBuild stands for the last build event of a log.
const lastBuild = math.MaxUint64

// replay folds a log up to an event (0: its head) and measures at the given build event (0: at none,
// where nothing was counted yet). The result depends on nothing else.
//
// from, if not nil, is the beginning of the log folded already, with measures. They stay active, and what a later
// build event would measure is left in later.
func replay(ctx context.Context, log reader, from *foldedLog, upTo, built uint64, measure measurer, progress func(done float64)) (*foldedLog, outline, error) {
	h := from
	if h == nil {
		h = &foldedLog{state: history.NewState()}
	}
	o, err := look(ctx, log, h.head.Seq, upTo)
	if err != nil {
		return nil, o, err
	}
	if built == lastBuild {
		built = o.built
	}
	if from != nil && (o.forgotten || len(o.treated) > 0) { // it may count what was forgotten since, or count it otherwise
		return replay(ctx, log, nil, upTo, built, measure, progress)
	}
	if from == nil {
		past := foldedLog{}
		for i := range o.treated {
			past.rule(&o.treated[i])
		}
		h.state.Treat(treatments(past.rules))
		h.treated = o.head
	}
	var at *history.Counts
	if built == 0 && h.measures == nil {
		at = h.state.Freeze() // no build yet: the measures of nothing
	}
	for e, err := range decoded(ctx, log, h.head.Seq, o.head) {
		if err != nil {
			return nil, o, err
		}
		if progress != nil && e.seq%1024 == 0 {
			progress(float64(e.seq) / float64(o.head))
		}
		h.count(e)
		if e.seq != built {
			continue
		}
		shot := snapshot{rules: h.rules, matter: h.matter, built: e.place, how: *e.value.(*build), image: h.state.Image()}
		if h.measures != nil {
			h.later = &unfinished{snapshot: shot, counts: h.state.Freeze(), since: h.since}
			continue
		}
		h.built, h.how, h.refused, h.since, h.changed, h.texts, h.shot = e.place, shot.how, nil, 0, false, 0, shot
		at = h.state.Freeze()
	}
	if h.measures != nil {
		return h, o, nil
	}
	if h.measures, err = measure(ctx, at, h.how, h.built.seq); err != nil {
		return nil, o, fmt.Errorf("measure at event %d: %w", h.built.seq, err)
	}
	return h, o, nil
}
