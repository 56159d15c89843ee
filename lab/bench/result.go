// Package bench is what the comparison with other programs and its runners share.
//
//	generated data ─┬─▶ ours   one task at one size, one line of JSON
//	                └─▶ peers  runs ours and the others in turns ──▶ ratios against floors
//	benchmarks of graph, spectral, semantic ──▶ summary: ratios and growth
package bench

// A Result is the line of JSON that a runner prints for one task, size and program. Fields that a
// task does not have are zero.
type Result struct {
	Task string `json:"task"`
	Peer string `json:"peer,omitempty"`
	N    int    `json:"n,omitempty"` // tools; events where the task is store
	M    int    `json:"m,omitempty"` // edges
	K    int    `json:"k,omitempty"`

	// Seconds of one repetition, wall and processor time of the process: median and least.
	Median    float64 `json:"median_s,omitempty"`
	Least     float64 `json:"min_s,omitempty"`
	MedianCPU float64 `json:"cpu_s,omitempty"`
	LeastCPU  float64 `json:"cpu_min_s,omitempty"`
	Reps      int     `json:"reps,omitempty"`
	Build     float64 `json:"build_s,omitempty"`

	// Microseconds of a query or event: processor time, mean, and percentiles of wall time.
	QueryCPU float64 `json:"cpu_us,omitempty"`
	Mean     float64 `json:"mean_us,omitempty"`
	P50      float64 `json:"p50_us,omitempty"`
	P99      float64 `json:"p99_us,omitempty"`
	Queries  int     `json:"queries,omitempty"`
	Check    float64 `json:"check,omitempty"` // sum of the ten best scores over all queries

	Sweeps     int     `json:"iters,omitempty"`
	Edges      float64 `json:"edges_per_upd,omitempty"`
	L1Error    float64 `json:"l1err,omitempty"`
	Modularity float64 `json:"Q,omitempty"`
	NMI        float64 `json:"nmi,omitempty"`
	NMITools   float64 `json:"nmi_tools,omitempty"`
	NMICaps    float64 `json:"nmi_caps,omitempty"`
	Recall     float64 `json:"recall10,omitempty"`

	EventsPerSecond float64 `json:"events_per_s,omitempty"`
	Writers         int     `json:"conc,omitempty"`
	Batch           int     `json:"batch,omitempty"`

	PeakMiB float64 `json:"peak_mib,omitempty"`
}
