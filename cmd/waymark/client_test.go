package main

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"waymark/client"
)

// The Go client beside the real program: every method, from an empty store to the suggestion that was learned.
func TestGoClient(t *testing.T) {
	t.Parallel()
	s := startServer(t, t.TempDir())
	defer s.stop(t)
	c := client.New(strings.TrimSuffix(s.URLs.API, "/v1"), "")
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()

	put, err := c.PutTools(ctx,
		client.Tool{ID: "desk:read", Description: "Reads a document", InputSchema: json.RawMessage(`{"type":"object"}`)},
		client.Tool{ID: "desk:stamp", Description: "Stamps a document"}, client.Tool{ID: "desk:post", Description: "Posts a letter"})
	require.NoError(t, err)
	require.Equal(t, 3, put.Added, "%+v", put)

	var episodes []client.Episode
	for _, id := range []string{"e1", "e2", "e3"} {
		episodes = append(episodes, client.Episode{ID: id, Intent: "stamp a document and post it", Outcome: "success",
			Steps: []client.Step{{Tool: "desk:read"}, {Tool: "desk:stamp"}, {Tool: "desk:post"}}})
	}
	recorded, err := c.Record(ctx, append(episodes, client.Episode{ID: "empty"})...)
	require.NoError(t, err)
	assert.Equal(t, []int{3, 0, 1}, []int{recorded.Accepted, recorded.Duplicates, recorded.RejectedTotal})
	again, err := c.Record(ctx, episodes...)
	require.NoError(t, err)
	assert.Equal(t, 3, again.Duplicates)

	next, err := c.Next(ctx, client.NextRequest{Context: []string{"desk:read"}, MinSeq: recorded.Seq})
	require.NoError(t, err)
	require.NotEmpty(t, next.Suggestions)
	assert.Equal(t, "desk:stamp", next.Suggestions[0].ID)
	assert.Positive(t, next.Suggestions[0].Confidence)
	seq, err := c.Feedback(ctx, client.Feedback{SuggestionID: next.SuggestionID, ID: "desk:stamp", Used: true})
	require.NoError(t, err)
	assert.Greater(t, seq, recorded.Seq)

	plan, err := c.DAG(ctx, client.DAGRequest{Intent: "stamp a document and post it", MinSeq: seq})
	require.NoError(t, err)
	assert.NotEmpty(t, plan.DAG.Tasks)
	found, err := c.Search(ctx, client.SearchRequest{Query: "letter"})
	require.NoError(t, err)
	require.NotEmpty(t, found.Results)
	assert.Equal(t, "desk:post", found.Results[0].ID)

	job, err := c.Rebuild(ctx)
	require.NoError(t, err)
	job, err = c.Wait(ctx, job.ID, 20*time.Millisecond)
	require.NoError(t, err)
	assert.Equal(t, "done", job.State)

	_, err = c.Next(ctx, client.NextRequest{Limit: 5000})
	var refused *client.Problem
	require.ErrorAs(t, err, &refused)
	assert.Equal(t, http.StatusUnprocessableEntity, refused.Status)
	_, err = c.Wait(ctx, "none", 0)
	require.ErrorAs(t, err, &refused)
	assert.Equal(t, http.StatusNotFound, refused.Status)
}
