package main

import "strings"

// A fault is how a tool fails: how often, with which message, and what is done then.
type fault struct {
	percent int // of its calls
	kind    string
	message string
	mend    []weighted[mend]
}

// A mend is what follows on a failed call.
type mend struct {
	calls []string // in this order; the last one takes the place of the failed call
	leave bool     // go on without it
	quit  bool     // the task ends here, as a failure
}

// again stands in calls for the tool that failed.
const again = ""

// usual is what people do after most failures.
var usual = []weighted[mend]{
	{mend{calls: []string{again}}, 62},
	{mend{leave: true}, 12},
	{mend{quit: true}, 26},
}

// faults of single tools. Two are there to be learned: query_series, which is being switched off and
// hardly ever answers, and (in faultsAfter) the merge right after a branch was updated.
var faults = map[string]fault{
	"metrics:query_series": {96, "gone", "query_series is deprecated: the series store answered 410, use query_metrics",
		[]weighted[mend]{{mend{leave: true}, 1}}},
	"web:fetch_page": {20, "timeout", "no answer from the server within 20 s",
		[]weighted[mend]{{mend{calls: []string{"web:render_page"}}, 50}, {mend{calls: []string{again}}, 25}, {mend{leave: true}, 15}, {mend{quit: true}, 10}}},
	"metrics:search_logs": {10, "timeout", "query took longer than 30 s, narrow the time range", usual},
	"warehouse:run_query": {13, "invalid_argument", "column does not exist, see describe_table",
		[]weighted[mend]{{mend{calls: []string{again}}, 45}, {mend{calls: []string{"warehouse:describe_table", again}}, 35}, {mend{quit: true}, 20}}},
	"files:edit_file": {12, "invalid_argument", "passage found 0 times",
		[]weighted[mend]{{mend{calls: []string{"files:read_file", again}}, 65}, {mend{calls: []string{"files:write_file"}}, 20}, {mend{quit: true}, 15}}},
	"files:extract_text": {13, "unavailable", "text recognition is busy, try again later", usual},
	"wiki:update_page": {24, "conflict", "page was saved in between, your version is old",
		[]weighted[mend]{{mend{calls: []string{"wiki:get_page", again}}, 75}, {mend{quit: true}, 25}}},
	"cloud:deploy_service": {8, "conflict", "another deployment of this service is running",
		[]weighted[mend]{{mend{calls: []string{"cloud:get_deployment", again}}, 55}, {mend{quit: true}, 45}}},
	"cloud:restart_service": {8, "conflict", "refused while a deployment is running", usual},
	"forge:commit_files": {6, "conflict", "branch moved, fetch the file again",
		[]weighted[mend]{{mend{calls: []string{"forge:get_file", again}}, 70}, {mend{quit: true}, 30}}},
	"forge:merge_pull_request": {5, "failed_precondition", "one approving review is missing",
		[]weighted[mend]{{mend{calls: []string{"forge:review_pull_request", again}}, 30}, {mend{quit: true}, 70}}},
	"billing:refund_payment": {9, "permission_denied", "refunds above the limit need a second person",
		[]weighted[mend]{{mend{calls: []string{"chat:send_direct_message"}}, 50}, {mend{quit: true}, 50}}},
	"calendar:create_event": {4, "conflict", "room was taken in the meantime",
		[]weighted[mend]{{mend{calls: []string{"calendar:find_free_slots", again}}, 70}, {mend{quit: true}, 30}}},
	"mail:send_message":        {4, "rate_limited", "sending limit of this hour is reached", usual},
	"web:search":               {5, "rate_limited", "too many searches, retry in 60 s", usual},
	"web:render_page":          {8, "timeout", "page was not quiet after 15 s", usual},
	"cap:research_brief":       {28, "upstream_error", "two of the sources could not be read", usual},
	"cap:explain_failed_check": {14, "upstream_error", "the log of the check is empty", usual},
}

// faultsAfter are faults of a tool right after another one: after update_branch all checks run again,
// and merging has to wait for them.
var faultsAfter = map[[2]string]fault{
	{"forge:update_branch", "forge:merge_pull_request"}: {97, "failed_precondition", "required checks are still running",
		[]weighted[mend]{{mend{calls: []string{"forge:get_checks", again}}, 75}, {mend{calls: []string{again}}, 8}, {mend{quit: true}, 17}}},
	{"cloud:set_config", "cloud:restart_service"}: {22, "conflict", "configuration is still being copied to the instances", usual},
}

// common are the faults that any tool has now and then, by what its server is like.
var common = []weighted[fault]{
	{fault{kind: "timeout", message: "no answer within 30 s", mend: usual}, 4},
	{fault{kind: "rate_limited", message: "too many requests, retry after 10 s", mend: usual}, 3},
	{fault{kind: "not_found", message: "nothing with this id", mend: usual}, 3},
	{fault{kind: "permission_denied", message: "the token may not do this", mend: usual}, 2},
	{fault{kind: "unavailable", message: "service is being restarted", mend: usual}, 2},
}

// commonPermille is how often a tool without a fault of its own fails, in a thousand calls.
const commonPermille = 22

// fails throws the dice for a call after the given tools. A call that is tried again rarely fails
// twice, except where waiting does not help.
func (h *history) fails(tool string, before []string, retry bool) (fault, bool) {
	for _, b := range before {
		if f, ok := faultsAfter[[2]string{b, tool}]; ok {
			return f, h.dice.IntN(100) < f.percent
		}
	}
	if f, ok := faults[tool]; ok {
		p := f.percent
		if retry {
			p /= 3
		}
		return f, h.dice.IntN(100) < p
	}
	if h.dice.IntN(1000) < commonPermille {
		return draw(h.dice, common), true
	}
	return fault{}, false
}

// duration of a call in milliseconds: about the usual time of such a call, now and then much more.
// A timeout takes as long as its message says.
func (h *history) duration(tool string, failed *fault) int64 {
	ms := int64(180)
	name := tool[strings.IndexByte(tool, ':')+1:]
	for _, d := range durations {
		if strings.HasPrefix(tool, d.word) || strings.HasPrefix(name, d.word) {
			ms = d.ms
			break
		}
	}
	switch {
	case failed != nil && failed.kind == "timeout":
		return 20_000 + int64(h.dice.IntN(11_000))
	case failed != nil:
		ms = ms/3 + 20
	case h.dice.IntN(25) == 0:
		ms *= 4
	}
	return ms*int64(60+h.dice.IntN(100))/100 + int64(h.dice.IntN(20))
}

// durations by the beginning of id or name, the first match counts; milliseconds, chosen.
var durations = []struct {
	word string
	ms   int64
}{
	{"cap:", 6200}, {"files:extract_text", 3800}, {"files:", 25}, {"web:render_page", 5200}, {"web:take_screenshot", 4100},
	{"web:", 950}, {"warehouse:run_query", 2300}, {"warehouse:export", 4600}, {"search_logs", 2600}, {"query_", 700},
	{"search", 420}, {"list", 240}, {"get", 160}, {"deploy", 1800}, {"rollback", 2100}, {"merge", 1300}, {"create", 480}, {"commit", 760},
}
