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

// replayedLog is a log folded up to an event. Three positions of the log describe it, in this order unless the last build
// is newer than all that a model counts:
//
//	built.seq      the build event of the measures
//	relevant.seq   the last event that a model counts: not a build, a ban or a pin
//	head.Seq       the last event
type replayedLog struct {
	active
	state       *history.State
	head        storage.Head
	rules       []Rule // in effect, by id; never changed in place
	relevant    place
	measures    *suggest.Measures
	refused     *refusal    // the last refused rebuild since built; nil: none
	folded      eventTotals // everything folded so far
	needsReplay bool        // the state counts something forgotten since, or does not follow the rules about sources
	treated     uint64      // forget requests and rules about sources up to this event are applied
	shot        snapshot    // of the build; without an image if no snapshot has to be written
	ahead       *unfinished // the last build event after built that this process has not measured; nil: none
}

// active describes the build whose measures are used.
type active struct {
	built   place       // its event
	how     build       // its options
	covered eventTotals // what the measures count
	builtAt time.Time   // when they became active; not in the log, or no two workspaces would have the same model
}

// eventTotals counts the folded events from any start. It is used to compare two extents of one history.
type eventTotals struct {
	events  int // that a model counts
	changes int // capabilities, removals, counted rules, forget requests and new vectors: one makes a build due
	texts   int // tools put or seen for the first time: search finds them without a build
}

// since returns the number of events that a model counts and the measures do not.
func (h *replayedLog) since() int { return h.folded.events - h.covered.events }

// refusal is a rebuild that was not published.
type refusal struct {
	seq uint64 // its event
	how build
}

// unfinished is a build event that is not measured yet, and the counts up to it. Without counts the log is replayed.
type unfinished struct {
	snapshot
	counts *history.Counts
}

// unfinished returns a build whose event was just folded. It has no image and no counts if the build is to be
// replayed, or if the state needs a replay.
func (h *replayedLog) unfinished(at place, how build, replayed bool) *unfinished {
	done := active{built: at, how: how, covered: h.folded}
	u := &unfinished{snapshot: snapshot{active: done, rules: h.rules, relevant: h.relevant}}
	if !replayed && !h.needsReplay {
		u.image, u.counts = h.state.Image(), h.state.Freeze()
	}
	return u
}

// model returns the model of the folded log and its measures.
func (h *replayedLog) model() (*suggest.Model, error) {
	return suggest.NewModel(h.state.Freeze(), h.measures, suggest.Stamp{
		Version: h.version(), Seq: max(h.relevant.seq, h.built.seq), BuiltAt: h.builtAt,
	})
}

// version returns the name of the model: a hash of the last counted event, the position of the build, and its options.
func (h *replayedLog) version() string {
	w := sha256.New()
	w.Write(h.relevant.chain[:])
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
func (h *replayedLog) count(e decodedEvent) {
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
	h.needsReplay = h.needsReplay || (rule && r.Source != "" || e.kind == kindForgotten) && e.seq > h.treated
	if !e.counts() {
		return
	}
	h.relevant = e.place
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

// outline is the result of a first pass over a log.
type outline struct {
	head      uint64
	built     uint64  // the last build event
	forgotten bool    // there is a forget request; its transaction has erased the payloads
	treated   []ruled // rules about sources, in order
}

// look reads the log after an event without folding it, because builds and rules about sources must be known before
// the events they concern are counted. upTo 0 means the head.
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

// replay folds a log up to an event (0: its head) and computes the measures at the given build event (0: the measures
// of an empty history). The result depends on nothing else.
//
// from, if not nil, is a folded beginning of the log, with measures. These measures stay active, and a later build
// event is returned as ahead, without being measured.
func replay(ctx context.Context, log reader, from *replayedLog, upTo, built uint64, measure measurer, progress func(done float64)) (*replayedLog, outline, error) {
	h := from
	if h == nil {
		h = &replayedLog{state: history.NewState()}
	}
	o, err := look(ctx, log, h.head.Seq, upTo)
	if err != nil {
		return nil, o, err
	}
	if built == lastBuild {
		built = o.built
	}
	if from != nil && (o.forgotten || len(o.treated) > 0) { // it may count forgotten events or use old rules
		return replay(ctx, log, nil, upTo, built, measure, progress)
	}
	if from == nil {
		past := replayedLog{}
		for i := range o.treated {
			past.rule(&o.treated[i])
		}
		h.state.Treat(treatments(past.rules))
		h.treated = o.head
	}
	var at *history.Counts
	if built == 0 && h.measures == nil {
		at = h.state.Freeze() // no build yet: the measures of an empty history
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
		h.active, h.refused, h.shot = u.active, nil, u.snapshot
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
