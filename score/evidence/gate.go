package evidence

// A Gate says whether there should be another round.
type Gate string

const (
	Continue  Gate = "continue"  // the round brought something new
	Stop      Gate = "stop"      // nothing new, and one hypothesis leads
	Forced    Gate = "forced"    // nothing new, but undecided: ask for what discriminates
	Exhausted Gate = "exhausted" // still undecided after all forced rounds
)

// Progress is what the gate goes by.
type Progress struct {
	Round        int // from 1
	NewDocuments int
	QualityGain  float64
	Share        float64 // entropy divided by its largest value
	Lead         float64 // weight of the leader
	Forced       int     // rounds forced before
}

// Gate decides after a round. A round is quiet from the second on, if it brought few new documents and
// little gain. A quiet round stops if the weights are decided, and is followed by a forced one if not,
// MaxForced times in all.
func (o Options) Gate(p Progress) Gate {
	quiet := p.Round >= 2 && p.NewDocuments < o.MinNewDocuments && p.QualityGain < o.MinQualityGain
	switch {
	case !quiet:
		return Continue
	case p.Share < o.StopShare && p.Lead >= o.StopLead:
		return Stop
	case p.Forced < o.MaxForced:
		return Forced
	}
	return Exhausted
}
