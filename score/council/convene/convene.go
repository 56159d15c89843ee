// Package convene asks models for answers to a question, and for reviews of each other's answers.
//
//	question ─▶ members answer ─▶ ballots: no names, an order for each reviewer ─▶ reviews ─▶ council.Score
//
// Everything that models said ends up in the [Minutes], so that anybody can compute the ranking again.
// A member who does not answer or review has no answer or review; nobody's silence becomes a number.
package convene

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"waymark/score/council"
	"waymark/score/judge"
	"waymark/score/rubric"
)

// A Member is a model under the name by which it answers and reviews.
type Member struct {
	Name  string
	Asker judge.Asker
}

// A Council is who answers, who reviews, and how.
type Council struct {
	Members   []Member // who answer
	Reviewers []Member // who review; the members if nil
	Options   council.Options
	// Holistic asks reviewers also, apart from the rubric, for one number for each answer, so that both can
	// be compared. Without it that is asked only of a reviewer whose review cannot be read.
	Holistic bool
}

// Minutes are what was asked and said, and what came of it.
type Minutes struct {
	Input   council.Input  `json:"input"`
	Result  council.Result `json:"result"`
	Entries []Entry        `json:"entries"` // every question, by stage and member
}

// An Entry is one question put to one member.
type Entry struct {
	Member   string        `json:"member"`
	Stage    Stage         `json:"stage"`
	Outcome  judge.Outcome `json:"outcome"`
	Detail   string        `json:"detail"`
	Model    string        `json:"model"`
	Attempts int           `json:"attempts"`
	Cached   bool          `json:"cached"`
	Tokens   int           `json:"tokens"`
	Reply    string        `json:"reply"` // whole
}

// Stage is what a member was asked for.
type Stage string

const (
	Answering Stage = "answer"
	Reviewing Stage = "review"
	Holistic  Stage = "holistic"
)

var (
	// ErrNoAnswer and ErrNoReview end a run in which there is nothing to go on with.
	ErrNoAnswer = errors.New("no member answered")
	ErrNoReview = errors.New("nobody reviewed the answers")
)

// Convene has the members answer a question and review each other. With an error come the minutes so far.
func (c Council) Convene(ctx context.Context, question string) (Minutes, error) {
	m := Minutes{Input: council.Input{Question: question, Options: c.Options}}
	if err := c.check(question, c.Members); err != nil {
		return m, err
	}
	questions := make([]*judge.Question, len(c.Members))
	for i, member := range c.Members {
		questions[i] = new(answerQuestion(member.Name, question))
	}
	answers, err := m.ask(ctx, c.Members, questions, Answering)
	if err != nil {
		return m, err
	}
	for i, a := range answers {
		if text := answerText(a, min(council.MaxText, council.MaxTexts/len(answers))); text != "" {
			m.Input.Responses = append(m.Input.Responses, council.Response{ID: c.Members[i].Name, Author: c.Members[i].Name, Text: text})
		}
	}
	if len(m.Input.Responses) == 0 {
		return m, fmt.Errorf("convene: %w", ErrNoAnswer)
	}
	return c.review(ctx, m)
}

// Review has the reviewers judge given answers. A response's author does not see it if he reviews.
func (c Council) Review(ctx context.Context, question string, responses []council.Response) (Minutes, error) {
	m := Minutes{Input: council.Input{Question: question, Responses: responses, Options: c.Options}}
	if err := c.check(question, c.reviewers()); err != nil {
		return m, err
	}
	if len(responses) == 0 {
		return m, rubric.Refuse("responses", "is required")
	}
	return c.review(ctx, m)
}

func (c Council) reviewers() []Member {
	if c.Reviewers == nil {
		return c.Members
	}
	return c.Reviewers
}

func (c Council) check(question string, asked []Member) error {
	switch {
	case strings.TrimSpace(question) == "":
		return rubric.Refuse("question", "is required")
	case len(asked) == 0:
		return rubric.Refuse("members", "is required")
	}
	_, err := c.Options.Weighed()
	return cmp.Or(rubric.CheckText("question", question, council.MaxQuestion), checkNames("members", c.Members), checkNames("reviewers", c.Reviewers), err)
}

func checkNames(what string, members []Member) error {
	if err := rubric.AtMost(what, len(members), council.MaxResponses); err != nil {
		return err
	}
	first := map[string]int{}
	for i, m := range members {
		place := fmt.Sprintf("%s[%d].name", what, i)
		if m.Name == "" {
			return rubric.Refuse(place, "is required")
		}
		if j, twice := first[m.Name]; twice {
			return rubric.Refuse(place, "%q is also the name of %s[%d]", m.Name, what, j)
		}
		first[m.Name] = i
	}
	return nil
}

// review collects reviews of the answers in m, and ranks.
func (c Council) review(ctx context.Context, m Minutes) (Minutes, error) {
	r, err := c.Options.Weighed()
	if err != nil {
		return m, err
	}
	if err := c.collect(ctx, &m, r); err != nil {
		return m, err
	}
	if len(m.Input.Reviews) == 0 {
		return m, fmt.Errorf("convene: %w", ErrNoReview)
	}
	m.Result, err = council.Score(m.Input)
	return m, err
}

// collect asks every reviewer who has answers of others to look at.
func (c Council) collect(ctx context.Context, m *Minutes, r *rubric.Rubric) error {
	reviewers := c.reviewers()
	ballots := make([]council.Ballot, len(reviewers))
	questions := make([]*judge.Question, len(reviewers))
	for i, reviewer := range reviewers {
		ballots[i] = council.NewBallot(c.Options.Seed, reviewer.Name, m.Input.Responses)
		if len(ballots[i].Order) > 0 {
			questions[i] = new(reviewQuestion(r, m.Input, ballots[i]))
		}
	}
	answers, err := m.ask(ctx, reviewers, questions, Reviewing)
	if err != nil {
		return err
	}
	reviews := make([]*council.Review, len(reviewers))
	again := make([]*judge.Question, len(reviewers))
	for i, a := range answers {
		if raw := said(a); raw != "" {
			reviews[i] = new(ballots[i].Review(raw))
		}
		if questions[i] != nil && (c.Holistic || reviews[i] != nil && unreadable(m.Input, *reviews[i])) {
			again[i] = new(holisticQuestion(m.Input, ballots[i]))
		}
	}
	if answers, err = m.ask(ctx, reviewers, again, Holistic); err != nil {
		return err
	}
	for i, a := range answers {
		if scores := ballots[i].HolisticScores(said(a)); scores != nil {
			if reviews[i] == nil {
				reviews[i] = new(ballots[i].Review(""))
			}
			reviews[i].Scores = scores
		}
	}
	for _, review := range reviews {
		if review != nil {
			m.Input.Reviews = append(m.Input.Reviews, *review)
		}
	}
	return nil
}

// unreadable reports whether a review alone would count for nothing, though its reviewer did not abstain.
func unreadable(in council.Input, review council.Review) bool {
	in.Reviews = []council.Review{review}
	res, err := council.Score(in)
	return err == nil && res.Reviews[0].Status == council.Unparsable
}

// ask puts each member his question, side by side; no question, the zero answer. Every question becomes an
// entry.
func (m *Minutes) ask(ctx context.Context, members []Member, questions []*judge.Question, stage Stage) ([]judge.Answer, error) {
	answers := make([]judge.Answer, len(members))
	var wg sync.WaitGroup
	for i, q := range questions {
		if q != nil {
			wg.Go(func() { answers[i] = members[i].Asker.Ask(ctx, *q) })
		}
	}
	wg.Wait()
	for i, a := range answers {
		if questions[i] == nil {
			continue
		}
		m.Entries = append(m.Entries, Entry{members[i].Name, stage, a.Outcome, a.Detail, a.Model, a.Attempts, a.Cached, a.Tokens, a.Reply})
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("convene: %s: %w", stage, ctx.Err())
	}
	return answers, nil
}

// said is what can be read as a review: the JSON that fits, else the words, in which something may still
// be found; a refusal is an abstention.
func said(a judge.Answer) string {
	switch a.Outcome {
	case judge.Answered:
		return cut(string(a.JSON), council.MaxRaw)
	case judge.Refused, judge.Unparsable:
		return cut(a.Reply, council.MaxRaw)
	}
	return ""
}

// answerText is a member's answer: what it put into the JSON, else its own words. A refusal is an answer.
// What is beyond the limit is cut.
func answerText(a judge.Answer, limit int) string {
	text := ""
	switch a.Outcome {
	case judge.Answered:
		var reply struct {
			Answer string `json:"answer"`
		}
		if json.Unmarshal(a.JSON, &reply) == nil {
			text = reply.Answer
		}
	case judge.Refused, judge.Unparsable:
		text = a.Reply
	}
	return cut(strings.TrimSpace(text), limit)
}

func cut(text string, limit int) string {
	if len(text) > limit {
		return strings.ToValidUTF8(text[:limit], "")
	}
	return text
}

// texts are the answers by id.
func texts(in council.Input) map[string]string {
	by := map[string]string{}
	for _, r := range in.Responses {
		by[r.ID] = r.Text
	}
	return by
}

// labels are those of a ballot in the order shown.
func labels(b council.Ballot) []string {
	list := make([]string, len(b.Order))
	for i := range b.Order {
		list[i] = b.LabelOf(i)
	}
	return list
}
