package evaluate

import "time"

// Report is what an evaluation found. Parts that could not be measured are nil. Every rate is a
// fraction in [0, 1].
type Report struct {
	Dataset       string              `json:"dataset"`
	Profile       string              `json:"profile"`
	TrainEpisodes int                 `json:"train_episodes"` // 0 where each test episode is held out in turn
	TestEpisodes  int                 `json:"test_episodes"`
	LeaveOneOut   bool                `json:"leave_one_out"`
	Next          *NextReport         `json:"next"`        // given the context
	NextIntent    *NextReport         `json:"next_intent"` // given context and intent
	Stop          *StopReport         `json:"stop"`        // given the context
	Tools         *ToolsReport        `json:"tools"`
	DAG           *DAGReport          `json:"dag"`
	Official      *OfficialReport     `json:"official"`
	FirstContact  *FirstContact       `json:"first_contact,omitempty"`
	Baselines     map[string]Baseline `json:"baselines"`
	Lost          []Comparison        `json:"lost"`    // decisive metrics in which the best baseline is better by more than chance
	TooFew        []Comparison        `json:"too_few"` // decisive metrics of too few tasks to tell; see [LeastCompared]
	Latency       *Latency            `json:"latency_us"`
	BuildMS       *float64            `json:"build_ms"`
}

// NextScores are means over all positions of all test episodes.
type NextScores struct {
	Positions int     `json:"positions"`
	Hit1      float64 `json:"hit@1"`
	Hit3      float64 `json:"hit@3"`
	Hit5      float64 `json:"hit@5"`
	MRR       float64 `json:"mrr"`
}

// NextReport adds how far the confidence of the first suggestion can be trusted; see [Calibrate] and
// [RiskCoverage]. Where nothing was suggested at all, nothing is claimed.
type NextReport struct {
	NextScores
	Tasks        int                 `json:"tasks"` // test episodes with a position
	ECE          *float64            `json:"ece"`
	Band         *Interval           `json:"ece_band"`
	Calibrated   *bool               `json:"calibrated"` // nil: it may be, but there are too few claims to tell; see [LeastClaims]
	Claims       int                 `json:"claims"`
	Reliability  []Bin               `json:"reliability"`
	RiskCoverage []RiskPoint         `json:"risk_coverage"`
	AURC         *float64            `json:"aurc"`
	CI           map[string]Interval `json:"ci"`
}

// ToolsScores are means over all test episodes with an intent.
type ToolsScores struct {
	Queries int     `json:"queries"`
	Recall5 float64 `json:"recall@5"`
	NDCG10  float64 `json:"ndcg@10"`
	MAP10   float64 `json:"map@10"`
}

// ToolsReport adds intervals.
type ToolsReport struct {
	ToolsScores
	CI map[string]Interval `json:"ci"`
}

// DAGScores are means over requests: Node-F1 of the sets of tools, Link-F1 of the sets of links
// between different tools over the requests that have one (nil where none has), and the share with a
// Node-F1 of .99.
type DAGScores struct {
	Requests int      `json:"requests"`
	Linked   int      `json:"linked"` // requests that have a link
	NodeF1   float64  `json:"node_f1"`
	LinkF1   *float64 `json:"link_f1"`
	Accuracy float64  `json:"accuracy"`
}

// DAGReport adds intervals.
type DAGReport struct {
	DAGScores
	CI map[string]Interval `json:"ci"`
}

// OfficialScores is the metric of the planning benchmarks in the form of TaskBench (GNN4TaskPlan,
// evaluate.py), over requests whose plan is a chain: [F1] of the lists of tools and of links, loops
// included, where a repeated tool costs precision; and the share with an n-F1 of .99.
type OfficialScores struct {
	Requests int     `json:"requests"`
	NodeF1   float64 `json:"n_f1"`
	LinkF1   float64 `json:"l_f1"`
	Accuracy float64 `json:"accuracy"`
}

// OfficialReport adds intervals.
type OfficialReport struct {
	OfficialScores
	CI map[string]Interval `json:"ci"`
}

// Baseline is what a simple method reaches on the same questions. Lead is by how much the profile is
// better, with the interval of the paired bootstrap: it leads where that lies above 0.
type Baseline struct {
	*NextScores
	*ToolsScores
	*DAGBaseline
	NextIntent *NextScores           `json:"next_intent,omitempty"` // of the one that is told the intent
	Official   *OfficialScores       `json:"official,omitempty"`
	CI         map[string]Interval   `json:"ci"`
	Lead       map[string]Difference `json:"lead,omitempty"`
}

// DAGBaseline is [DAGScores] without the counts, which the queries say.
type DAGBaseline struct {
	NodeF1   float64  `json:"node_f1"`
	LinkF1   *float64 `json:"link_f1"`
	Accuracy float64  `json:"accuracy"`
}

// Latency of single questions, one after the other, in microseconds: five suggestions, one plan. Nil is
// not asked.
type Latency struct {
	NextP50 *float64 `json:"next_p50"`
	NextP99 *float64 `json:"next_p99"`
	DAGP50  *float64 `json:"dag_p50"`
	DAGP99  *float64 `json:"dag_p99"`
}

// Options of an evaluation. The zero value measures everything that needs no clock.
type Options struct {
	Profile         string                              // of the report
	Seed            uint64                              // of every draw; 0 means 1
	SuccessfulTests bool                                // only test episodes that succeeded are asked about
	FirstContact    bool                                // asks about what the history does not resemble
	Now             func() time.Time                    // clock for latency and build time; nil: neither is measured
	Progress        func(phase string, done, total int) // nil: nobody looks. Calls never overlap
}
