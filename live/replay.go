package live

import (
	"cmp"
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
	folded   extent      // so far
	counted  extent      // by the measures
	tainted  bool        // something is counted that was forgotten since, or otherwise than rules about sources say now
	treated  uint64      // requests to forget and rules about sources up to this event are followed
	shot     snapshot    // of the build; without an image if there is no need
	ahead    *unfinished // the last build event after it that this process did not measure; nil: none
}

// extent counts what was folded, from any beginning: two of one history are compared.
type extent struct {
	events  int // that matter
	changes int // of the catalog, in more than tools that were put
	texts   int // tools put or met for the first time: they are searched without a build
}

// since is how many events matter since the measures.
func (h *foldedLog) since() int { return h.folded.events - h.counted.events }

// refusal is a rebuild that was not published.
type refusal struct {
	seq uint64 // its event
	how build
}

// unfinished is a build event and what was counted up to it. Without counts the log is replayed.
type unfinished struct {
	snapshot
	counts *history.Counts
	folded extent
}

// unfinished is a build as of its event, which was just counted; without image and counts where it is to be replayed, and
// where the state counts something forgotten.
func (h *foldedLog) unfinished(at place, how build, replayed bool) *unfinished {
	u := &unfinished{snapshot: snapshot{rules: h.rules, matter: h.matter, built: at, how: how}, folded: h.folded}
	if !replayed && !h.tainted {
		u.image, u.counts = h.state.Image(), h.state.Freeze()
	}
	return u
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
	h.folded.events++
	if rule || slices.Contains([]byte{kindCapability, kindRemoved, kindForgotten}, e.kind) {
		h.folded.changes++
	}
	tools := h.state.Seen()
	fold(h.state, e.value)
	if met := h.state.Seen() - tools; e.kind == kindTool {
		h.folded.texts++
	} else {
		h.folded.texts += met
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
	for e, err := range decoded(ctx, log, after, cmp.Or(upTo, math.MaxUint64), ofKind(kindBuild, kindRule, kindForgotten)) {
		if err != nil {
			return o, err
		}
		o.head = e.seq
		switch v := e.value.(type) {
		case *build:
			if !v.Refused {
				o.built = e.seq
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
// build event would measure is left ahead.
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
	for e, err := range decoded(ctx, log, h.head.Seq, o.head, everything) {
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
		u := h.unfinished(e.place, *e.value.(*build), false)
		if h.measures != nil {
			h.ahead = u
			continue
		}
		h.built, h.how, h.refused, h.counted, h.shot = e.place, u.how, nil, u.folded, u.snapshot
		at = u.counts
	}
	if h.measures != nil {
		return h, o, nil
	}
	if h.measures, err = measure(ctx, at, h.how, h.built.seq); err != nil {
		return nil, o, fmt.Errorf("measure at event %d: %w", h.built.seq, err)
	}
	return h, o, nil
}
