package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"waymark/live"
)

// experimenting returns the experiment that the flags describe.
func (a *app) experimenting() (live.Experiment, error) {
	x := a.learning.experiment
	switch {
	case a.learning.split == "" && a.given("split-share"):
		return x, usagef("--split-share needs --split: it is the share of the sessions that the profile of --split answers")
	case a.learning.split != "" && !(a.learning.splitShare > 0 && a.learning.splitShare < 1):
		return x, usagef("--split-share must be a number between 0 and 1, got %v", a.learning.splitShare)
	case a.learning.split != "":
		x.Profile, x.Split = a.learning.split, a.learning.splitShare
	}
	if err := x.Check(); err != nil {
		return x, usageError{err}
	}
	return x, nil
}

func (a *app) abCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "ab",
		Short: "Compare two profiles by the outcomes of their answers",
		Long: `Reads the outcomes of the answers that were logged (serve --log-served, --split): of those that episodes
and feedback name by their suggestion_id, how often the tool that was used next stood first, among the
first five, and at which place, by profile, with intervals. Equal questions to one model have one
suggestion_id and are logged once, so fewer answers are logged than were given; every outcome that names
one counts. The verdict says so where there is too little data.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return get(cmd.Context(), a, "/v1/ab", (*app).showComparison)
		},
	}
}

func (a *app) showComparison(c live.Comparison) {
	a.printf("answers logged: %d; episodes and feedbacks that name an answer: %d, of them one that is not logged: %d, the last of a task: %d\n",
		c.Logged, c.Echoed, c.Unknown, c.Ended)
	for _, q := range c.Questions {
		var rows [][]string
		for _, arm := range q.Arms {
			rows = append(rows, []string{arm.Arm, fmt.Sprintf("%d of %d", arm.Outcomes, arm.Conversations), number(arm.Hit1), number(arm.Hit5),
				number(arm.MRR), fmt.Sprintf("%.4f … %.4f", arm.CI["mrr"][0], arm.CI["mrr"][1])})
		}
		a.printf("\n%s\n\n", q.Question)
		columns(a.out, []string{"profile", "outcomes", "hit@1", "hit@5", "MRR", "95 %"}, rows)
		a.printf("\n%s: %s", q.Verdict, q.Why)
		if q.Difference != nil {
			a.printf(" (MRR %+.4f … %+.4f)", q.Difference.Interval[0], q.Difference.Interval[1])
		}
		a.printf("\n")
	}
	if len(c.Notes) > 0 {
		a.printf("\n")
	}
	for _, n := range c.Notes {
		a.printf("note: %s\n", clean(n))
	}
}
