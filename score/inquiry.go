package score

import (
	"context"
	"errors"
	"fmt"

	"waymark/internal/plural"
	"waymark/score/evidence"
	"waymark/score/evidence/inquiry"
	"waymark/score/judge"
	"waymark/score/rubric"
)

// An InquiryRequest is a question to be answered with a judge and a search.
type InquiryRequest struct {
	Question string `json:"question"`
	// The search runs over Documents or calls SearchTool.
	Documents      []Document   `json:"documents,omitempty" maxItems:"10000" doc:"Texts to search; long ones are split into passages. Alternative: search_tool."`
	SearchTool     string       `json:"search_tool,omitempty" doc:"Id of a search tool of a connected server."`
	SearchArgument string       `json:"search_argument,omitempty" doc:"Name of the argument of search_tool for the query; default query."`
	Judge          JudgeOptions `json:"judge,omitzero"`

	inquiry.Options
}

// A Document is a text to search.
type Document struct {
	ID     string `json:"id,omitempty" doc:"Default d1, d2, …"`
	Text   string `json:"text"`
	Source string `json:"source,omitempty" doc:"Source of the text: a URL, a domain or any name; default the id."`
}

// An InquiryAnswer has the questions, the snippets found and the result. ID names the resulting triangulation and is
// empty for an easy question.
type InquiryAnswer struct {
	Message string `json:"message" doc:"Summary of the answer in one sentence."`
	ID      string `json:"id" doc:"Id of the triangulation, for adding more evidence."`
	inquiry.Report
}

// ErrSearch is returned if all searches of a round fail.
var ErrSearch = errors.New("the search failed")

// mostFound is the number of results kept of one search: a repeated query continues in its list.
const mostFound = 50

// Inquire answers a question: a judge proposes hypotheses, then searches collect evidence until the gate stops.
func (s *Scorer) Inquire(ctx context.Context, in InquiryRequest) (InquiryAnswer, error) {
	if in.Question == "" {
		return InquiryAnswer{}, rubric.Refuse("question", "is required")
	}
	search, err := s.searcher(in)
	if err != nil {
		return InquiryAnswer{}, err
	}
	a, err := s.proposer(in.Question, in.EvenIfEasy, in.Judge)
	if err != nil {
		return InquiryAnswer{}, err
	}
	report, err := inquiry.Run(ctx, in.Question, prompter{a}, search, in.Options)
	if err != nil {
		return InquiryAnswer{}, inInquiry(ctx, err)
	}
	if report.Triangulation == nil {
		return InquiryAnswer{Message: fmt.Sprintf("The question is easy: a plain search found %s. %s", plural.Of(len(report.Snippets), "snippet"), askAnyway), Report: report}, nil
	}
	id, err := triangulationID(*report.Request)
	return InquiryAnswer{evidenceMessage(*report.Triangulation), id, report}, err
}

// askAnyway is the last sentence of the message about an easy question.
const askAnyway = "Set even_if_easy (on the command line: --even-if-easy) to ask for hypotheses all the same."

// searcher returns the search of an inquiry.
func (s *Scorer) searcher(in InquiryRequest) (inquiry.Searcher, error) {
	switch {
	case in.SearchTool != "" && len(in.Documents) > 0:
		return nil, rubric.Refuse("search_tool", "is given together with documents; give one")
	case in.SearchTool != "" && s.Caller == nil:
		return nil, rubric.Refuse("search_tool", "no servers are connected that could have it; give documents")
	case in.SearchTool != "":
		return newToolSearch(s.Caller, in), nil
	case len(in.Documents) == 0:
		return nil, rubric.Refuse("documents", "is empty, and there is no search_tool: nothing to look in")
	}
	var passages []evidence.Snippet
	for i, d := range in.Documents {
		if d.ID == "" {
			d.ID = fmt.Sprintf("d%d", i+1)
		}
		passages = append(passages, inquiry.Passages(evidence.Snippet(d))...)
	}
	return inquiry.NewLibrary(passages, mostFound), nil
}

// proposer returns the judge that proposes hypotheses, nil for an easy question.
func (s *Scorer) proposer(question string, evenIfEasy bool, o JudgeOptions) (judge.Asker, error) {
	if evidence.Assess(question).Easy && !evenIfEasy {
		return nil, nil
	}
	return s.asker(o)
}

// inInquiry classifies an error of an inquiry: request, judge or search.
func inInquiry(ctx context.Context, err error) error {
	var (
		request *rubric.RequestError
		reply   *evidence.ReplyError
		ask     *AskError
	)
	switch {
	case errors.As(err, &request):
		return err
	case errors.As(err, &reply), errors.As(err, &ask):
		return fmt.Errorf("%w: %w", ErrJudge, err)
	case ctx.Err() != nil:
		return err
	}
	return fmt.Errorf("%w: %w", ErrSearch, err)
}

// An AskError is an unanswered question to a judge, with the outcome.
type AskError struct {
	Outcome judge.Outcome
	Detail  string
}

func (e *AskError) Error() string { return fmt.Sprintf("%s: %s", e.Outcome, e.Detail) }

// JudgeOutcome implements [Judged].
func (e *AskError) JudgeOutcome() judge.Outcome { return e.Outcome }
