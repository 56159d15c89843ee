package live

import (
	"fmt"
	"strings"
	"time"

	"waymark/catalog"
)

// Behind lists the parts of a model that are older than the log, since when, and why. Counts, outcomes, texts and past
// intents are never older: they count as soon as they are acknowledged.
type Behind struct {
	Parts  []string  `json:"parts" doc:"Parts of the model that are updated only by a build."`
	Events int       `json:"events" doc:"Events since the last build."`
	Build  uint64    `json:"build" doc:"The event of the last build; 0 if there is none."`
	Since  time.Time `json:"since,omitzero" doc:"Time at which the last build was published."`
	Reason string    `json:"reason" doc:"Reason why no newer build is published."`
}

// String returns a description in one line.
func (b *Behind) String() string {
	if b == nil {
		return "everything counts the last event"
	}
	since := "nothing has been built yet"
	if b.Build > 0 {
		since = fmt.Sprintf("as of event %d", b.Build)
		if !b.Since.IsZero() {
			since += b.Since.UTC().Format(", 2006-01-02 15:04:05 UTC")
		}
	}
	return fmt.Sprintf("%s: %s, %d event(s) ago; %s", strings.Join(b.Parts, ", "), since, b.Events, b.Reason)
}

// Behind returns the parts of the model that are older than the log; nil if there are none.
func (e *Engine) Behind() *Behind { return e.status.Load().behind }

// behind computes the current value of [Engine.Behind].
func (w *writer) behind() *Behind {
	provisional := w.measures.Provisional()
	late := w.since() > 0 || w.changed() || w.refused != nil
	if !late && !provisional {
		return nil
	}
	b := &Behind{Events: w.since(), Build: w.built.seq, Since: w.builtAt, Reason: w.whyBehind()}
	if late {
		b.Parts = []string{"importance", "communities", "clusters"}
	}
	switch {
	case provisional:
		b.Parts = append(b.Parts, "learned weights and plans (profile seed answers)")
	case w.measures.Learned():
		b.Parts = append(b.Parts, "learned weights")
	}
	return b
}

// whyBehind returns the reason why the last build does not count everything.
func (w *writer) whyBehind() string {
	switch {
	case w.building != nil:
		return "a build is under way since " + w.building.StartedAt.UTC().Format(time.TimeOnly+" UTC")
	case w.held.Load() > 0:
		return "an import or a rebuild is under way, one build follows at its end"
	case w.failed != nil:
		return "the last build failed or was canceled; the next one that is due or waymark rebuild tries again"
	case w.refused != nil:
		return fmt.Sprintf("the rebuild of event %d was refused; until a rebuild is published no build starts by itself", w.refused.seq)
	case w.changed():
		return "the catalog has changed; a server builds by itself, waymark rebuild does it now"
	}
	due := max(buildAfter, (int(w.built.seq)+buildShare-1)/buildShare)
	return fmt.Sprintf("a server builds by itself after %s or %s, waymark rebuild does it now", catalog.Plural(due, "event"), catalog.Plural(max(1, (w.state.Seen()+buildShare-1)/buildShare), "new tool"))
}
