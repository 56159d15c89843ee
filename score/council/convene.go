package council

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	"waymark/score/judge"
	"waymark/score/rubric"
)

// A Member is a model under the name by which it answers and reviews.
type Member struct {
	Name  string
	Asker judge.Asker
}

// A Council asks models for answers to a question, and for reviews of each other's answers:
//
//	question ─▶ members answer ─▶ ballots: no names, an order for each reviewer ─▶ reviews ─▶ ScoreCouncil
//
// A member who does not answer or review has no answer or review; nobody's silence becomes a number.
type Council struct {
	Members   []Member // who answer
	Reviewers []Member // who review; the members if nil
	Options   CouncilOptions
	// Holistic asks reviewers also, apart from the rubric, for one number for each answer, so that both can
	// be compared. Without it only a reviewer whose review cannot be read is asked for that.
	Holistic bool
}

// Minutes are the questions and replies of a council with its result, from which the ranking can be computed
// again.
type Minutes struct {
	Input   CouncilInput
	Result  CouncilResult
	Entries []CouncilEntry // every question, by stage and member
}

// A CouncilEntry is one question put to one member.
type CouncilEntry struct {
	Member   string        `json:"member"`
	Stage    string        `json:"stage"` // answer, review or holistic
	Outcome  judge.Outcome `json:"outcome"`
	Detail   string        `json:"detail"`
	Model    string        `json:"model"`
	Attempts int           `json:"attempts"`
	Cached   bool          `json:"cached"`
	Tokens   int           `json:"tokens"`
	Reply    string        `json:"reply"` // whole
}

// ErrNoAnswer and ErrNoReview end a run in which there is nothing to go on with.
var (
	ErrNoAnswer = errors.New("no member answered")
	ErrNoReview = errors.New("nobody reviewed the answers")
)

// Convene has the reviewers judge the responses, after the members have written them if there are none. A
// response's author does not see it if he reviews. With an error come the minutes so far.
func (c Council) Convene(ctx context.Context, question string, responses []Response) (Minutes, error) {
	m := Minutes{Input: CouncilInput{Question: question, Responses: responses, Options: c.Options}}
	if c.Reviewers == nil {
		c.Reviewers = c.Members
	}
	if strings.TrimSpace(question) == "" {
		return m, rubric.Refuse("question", "is required")
	}
	r, err := c.Options.Weighed()
	err = cmp.Or(rubric.CheckText("question", question, maxQuestion), checkNames("members", c.Members), checkNames("reviewers", c.Reviewers), err)
	if err != nil {
		return m, err
	}
	if len(responses) == 0 {
		if err := c.answer(ctx, &m); err != nil {
			return m, err
		}
	}
	if err := c.review(ctx, &m, r); err != nil {
		return m, err
	}
	m.Result, err = ScoreCouncil(m.Input)
	return m, err
}

func checkNames(list string, members []Member) error {
	return cmp.Or(rubric.AtMost(list, len(members), maxResponses),
		distinct(list, "name", "is also the name of", members, func(m Member) string { return m.Name }))
}

// answer asks the members for their answers. A refusal is an answer; the excess over the limits is cut.
func (c Council) answer(ctx context.Context, m *Minutes) error {
	questions := make([]*judge.Question, len(c.Members))
	for i, member := range c.Members {
		questions[i] = answerQuestion(member.Name, m.Input.Question)
	}
	answers, err := m.ask(ctx, c.Members, questions, "answer")
	for i, a := range answers {
		text := said(a)
		if a.Outcome == judge.Answered {
			var reply struct{ Answer string }
			_ = json.Unmarshal(a.JSON, &reply) // the schema has a text there
			text = reply.Answer
		}
		if text = cut(strings.TrimSpace(text), min(maxText, maxTexts/len(answers))); text != "" {
			m.Input.Responses = append(m.Input.Responses, Response{ID: c.Members[i].Name, Author: c.Members[i].Name, Text: text})
		}
	}
	if err == nil && len(m.Input.Responses) == 0 {
		return fmt.Errorf("convene: %w", ErrNoAnswer)
	}
	return err
}

// review asks every reviewer who has answers of others to look at.
func (c Council) review(ctx context.Context, m *Minutes, r *rubric.Rubric) error {
	ballots := make([]ballot, len(c.Reviewers))
	questions, again := make([]*judge.Question, len(c.Reviewers)), make([]*judge.Question, len(c.Reviewers))
	for i, reviewer := range c.Reviewers {
		ballots[i] = newBallot(c.Options.Seed, reviewer.Name, m.Input.Responses)
		if len(ballots[i].labels) > 0 {
			questions[i] = reviewQuestion(r, m.Input.Question, ballots[i])
		}
	}
	answers, err := m.ask(ctx, c.Reviewers, questions, "review")
	if err != nil {
		return err
	}
	reviews := make([]Review, len(c.Reviewers))
	for i, a := range answers {
		reviews[i] = Review{Reviewer: c.Reviewers[i].Name, Labels: ballots[i].ids, Raw: cut(said(a), maxRaw)}
		if questions[i] != nil && (c.Holistic || reviews[i].Raw != "" && unreadable(m.Input, reviews[i])) {
			again[i] = holisticQuestion(m.Input.Question, ballots[i])
		}
	}
	if answers, err = m.ask(ctx, c.Reviewers, again, "holistic"); err != nil {
		return err
	}
	for i, a := range answers {
		reviews[i].Scores = ballots[i].scores(cut(said(a), maxRaw))
		if reviews[i].Raw != "" || reviews[i].Scores != nil {
			m.Input.Reviews = append(m.Input.Reviews, reviews[i])
		}
	}
	if len(m.Input.Reviews) == 0 {
		return fmt.Errorf("convene: %w", ErrNoReview)
	}
	return nil
}

// unreadable reports whether a review alone would count for nothing, though its reviewer did not abstain.
func unreadable(in CouncilInput, review Review) bool {
	in.Reviews = []Review{review}
	res, err := ScoreCouncil(in)
	return err == nil && res.Reviews[0].Status == Unparsable
}

// ask puts each member its question, concurrently; nil is none and has the zero answer. Every question
// becomes an entry.
func (m *Minutes) ask(ctx context.Context, members []Member, questions []*judge.Question, stage string) ([]judge.Answer, error) {
	answers := make([]judge.Answer, len(members))
	var wg sync.WaitGroup
	for i, q := range questions {
		if q != nil {
			wg.Go(func() { answers[i] = members[i].Asker.Ask(ctx, *q) })
		}
	}
	wg.Wait()
	for i, a := range answers {
		if questions[i] != nil {
			m.Entries = append(m.Entries, CouncilEntry{members[i].Name, stage, a.Outcome, a.Detail, a.Model,
				a.Attempts, a.Cached, a.Tokens, a.Reply})
		}
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("convene: %s: %w", stage, ctx.Err())
	}
	return answers, nil
}

// said is the part of an answer that can be read as a review: the JSON that fits, else the words, in which
// something may still be found; a refusal is an abstention.
func said(a judge.Answer) string {
	switch a.Outcome {
	case judge.Answered:
		return string(a.JSON)
	case judge.Refused, judge.Unparsable:
		return a.Reply
	}
	return ""
}

func cut(text string, limit int) string {
	if len(text) > limit {
		return strings.ToValidUTF8(text[:limit], "")
	}
	return text
}

// A ballot is the view of one reviewer: the answers of others, without names, in an order of its own.
type ballot struct {
	reviewer string
	labels   []string // in the order shown: A … Z, AA, AB …
	answers  []Response
	ids      map[string]string // by label
}

// newBallot shuffles the answers for a reviewer. It depends on seed, reviewer and the set of ids, not on
// their order; other reviewers get other orders. The reviewer's own answers are left out. The shuffle
// (Fisher and Yates) is written out, so that the order stays the same whatever a library does; its bias for
// lists this short is below 2⁻⁵⁷.
func newBallot(seed int64, reviewer string, responses []Response) ballot {
	b := ballot{reviewer: reviewer, ids: map[string]string{}}
	sorted := slices.SortedFunc(slices.Values(responses), func(a, b Response) int { return cmp.Compare(a.ID, b.ID) })
	for _, r := range sorted {
		if r.Author == "" || r.Author != reviewer {
			b.labels, b.answers = append(b.labels, label(len(b.labels))), append(b.answers, r)
		}
	}
	key := binary.BigEndian.AppendUint64(nil, uint64(seed))
	for _, word := range []string{"ballot", reviewer, "1"} {
		key = append(binary.BigEndian.AppendUint64(key, uint64(len(word))), word...)
	}
	hash := sha256.Sum256(key)
	random := rand.NewPCG(binary.BigEndian.Uint64(hash[:]), binary.BigEndian.Uint64(hash[8:]))
	for i := len(b.answers) - 1; i > 0; i-- {
		j, _ := bits.Mul64(random.Uint64(), uint64(i+1))
		b.answers[i], b.answers[j] = b.answers[j], b.answers[i]
	}
	for i, l := range b.labels {
		b.ids[l] = b.answers[i].ID
	}
	return b
}

func label(i int) string {
	if i < 26 {
		return string(rune('A' + i))
	}
	return label(i/26-1) + label(i%26)
}

// scores reads one number for each answer out of a reply, by id; nil: there is none.
func (b ballot) scores(raw string) (scores map[string]rubric.Decimal) {
	r := ParseReply(raw)
	for label, id := range b.ids {
		if score, ok := r.Scores[label]; ok && !r.Abstains {
			if scores == nil {
				scores = map[string]rubric.Decimal{}
			}
			scores[id] = score
		}
	}
	return scores
}
