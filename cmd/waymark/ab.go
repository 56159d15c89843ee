package main

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	"waymark/cmd/waymark/internal/client"
	"waymark/learn"
	"waymark/live"
)

// experimenting is what the flags say is tried with answers.
func (a *app) experimenting() (live.Experiment, error) {
	x := a.experiment
	switch {
	case a.shadow != "" && a.split != "":
		return x, usagef("--shadow and --split exclude each other: the second profile either answers or does not")
	case a.split == "" && a.given("split-share"):
		return x, usagef("--split-share needs --split: it is the share of the conversations that the profile of --split answers")
	case a.split != "" && !(a.splitShare > 0 && a.splitShare < 1):
		return x, usagef("--split-share must be a number between 0 and 1, got %v", a.splitShare)
	case a.split != "":
		x.Profile, x.Split = a.split, a.splitShare
	default:
		x.Profile = a.shadow
	}
	if err := x.Check(); err != nil {
		return x, usageError{err}
	}
	return x, nil
}

func (a *app) abCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "ab",
		Short: "Compare two profiles by what became of their answers",
		Long: `Reads what became of the answers that were logged (serve --log-served, --shadow, --split): of those
that episodes and feedback name by their suggestion_id, how often the tool that came next stood first,
among the first five, and at which place, by profile. Equal questions to one model have one suggestion_id
and are logged once, so fewer answers are logged than were given; every outcome that names one counts. It
says so where there is too little to tell, or where it cannot be told.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.with(cmd.Context(), func(c *client.Client) error {
				body, err := c.Call(cmd.Context(), http.MethodGet, "/v1/ab", nil)
				if err != nil {
					return err
				}
				if a.json {
					return a.printBody(body)
				}
				var comparison live.Comparison
				if err := json.Unmarshal(body, &comparison); err != nil {
					return fmt.Errorf("ab: the answer is not what this program expects: %w", err)
				}
				a.showComparison(comparison)
				return nil
			})
		},
	}
}

func (a *app) showComparison(c live.Comparison) {
	a.printf("%d answers logged; %d episodes and feedbacks name an answer, %d of them one that is not logged, %d the last of a task\n",
		c.Logged, c.Echoed, c.Unknown, c.Ended)
	for _, q := range c.Questions {
		var rows [][]string
		row := func(arm, as string, n string, s *learn.ArmScores) {
			if s == nil {
				return
			}
			rows = append(rows, []string{arm, as, n, number(s.Hit1), number(s.Hit5), number(s.MRR),
				fmt.Sprintf("%.4f … %.4f", s.CI["mrr"][0], s.CI["mrr"][1]), fmt.Sprintf("%.0f", s.Effective)})
		}
		for _, arm := range q.Arms {
			name := arm.Arm
			if arm.Shadow {
				name += " (shadow)"
			}
			row(name, "as it happened", fmt.Sprintf("%d of %d", arm.Outcomes, arm.Conversations), &arm.ArmScores)
			row(name, "without exploration", "", arm.Unexplored)
			row(name, "corrected for the place", "", arm.Corrected)
		}
		a.printf("\n%s\n\n", q.Question)
		columns(a.out, []string{"profile", "scores", "outcomes", "hit@1", "hit@5", "MRR", "95 %", "effective"}, rows)
		a.printf("\n%s: %s", q.Verdict, q.Why)
		if q.Difference != nil {
			a.printf(" (MRR %+.4f … %+.4f)", q.Difference.Interval[0], q.Difference.Interval[1])
		}
		a.printf("\n")
		if len(q.Examination) > 0 {
			a.printf("a place is worth, beside the first:")
			for _, x := range q.Examination[1:] {
				a.printf("  %d: %.2f", x.Place, x.Share)
			}
			a.printf("\n")
		}
	}
	if len(c.Notes) > 0 {
		a.printf("\n")
	}
	for _, n := range c.Notes {
		a.printf("note: %s\n", clean(n))
	}
}
