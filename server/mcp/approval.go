package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"waymark/run"
	"waymark/server/internal/jsonio"
	"waymark/server/internal/request"
)

// A run that waits for a person asks the person at the host, where the host can show a form and the
// credential may approve:
//
//	run_dag ─▶ the run waits ─▶ input required: what would be called, and a state ─▶ host shows it
//	   ◀─ the answer ◀─ the run goes on ◀─ run_dag + allowed or not + state ◀──────────┘
//
// The model has no part in that. The state names the run and the nodes that were shown, so it is signed: what
// comes back decides about them and no others. A call asks once; hosts of older revisions can do no more.
const askApproval = "approval"

// shownApproval is what a person was asked about.
type shownApproval struct {
	Run   string   `json:"run"`
	Nodes []string `json:"nodes"`
}

// decision is what a person said to it.
type decision struct {
	shownApproval
	Allow bool `json:"allow"`
}

// canAskAPerson reports whether the host can show a form to somebody who may approve, and has not shown one in this call.
func (c *mcpCall) canAskAPerson() bool {
	caps := c.req.ClientCapabilities()
	return c.access.May(request.ScopeAdmin) && caps != nil && caps.Elicitation != nil && (caps.Elicitation.Form != nil || caps.Elicitation.URL == nil) && c.req.Params.RequestState == ""
}

// The most nodes in one form, and the bytes of the arguments of each. The rest is asked about later.
const formNodes, formArguments = 8, 600

var approvalSchema = json.RawMessage(`{"type":"object","properties":{"allow":{"type":"boolean","title":"Allow","description":"Make these calls"}},"required":["allow"]}`)

// askAPerson is the request to show what a run waits for.
func (c *mcpCall) askAPerson(ctx context.Context, s run.Status) (*inputRequired, error) {
	shown := shownApproval{Run: s.ID}
	var b strings.Builder
	for _, n := range s.Nodes {
		if len(shown.Nodes) == formNodes || !slices.Contains(s.Waiting, n.ID) {
			continue
		}
		shown.Nodes = append(shown.Nodes, n.ID)
		fmt.Fprintf(&b, "\n%s: %s %s (%s)", shownID(n.ID), shownID(n.Tool), shownArguments(n.Arguments), n.Reason)
	}
	state, wrong := json.Marshal(shown)
	key, err := c.cfg.Runs.Secret(ctx)
	if err = errors.Join(wrong, err); err != nil {
		return nil, err
	}
	return &inputRequired{
		requests: mcp.InputRequestMap{askApproval: &mcp.ElicitParams{Mode: "form", RequestedSchema: approvalSchema,
			Message: fmt.Sprintf("Run %s wants to call:%s\nShall it?", s.ID, b.String())}},
		state: seal(key, c.approvalBound(), state),
	}, nil
}

// shownArguments is JSON on one line in which nothing hides.
func shownArguments(arguments json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, arguments) != nil {
		return "{}"
	}
	text := strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, b.String())
	if len(text) > formArguments {
		text = fmt.Sprintf("%s… (%d bytes)", strings.ToValidUTF8(text[:formArguments], ""), b.Len())
	}
	return text
}

// approvalBound is what the state of a question about a run is bound to.
func (c *mcpCall) approvalBound() []byte {
	return fmt.Appendf(nil, "%s\n%q\n%q", askApproval, c.access.Workspace, c.access.Source)
}

// personSaid returns the id of the run that a person was asked about, once their decision is stored. Whoever closed the
// form has decided nothing.
func (c *mcpCall) personSaid(ctx context.Context) (id string, err error) {
	key, err := c.cfg.Runs.Secret(ctx)
	if err != nil {
		return "", err
	}
	data, ok := unseal(key, c.approvalBound(), c.req.Params.RequestState)
	if !ok {
		return "", jsonio.Wrong("requestState", "is not of a run that waits here; call run_dag with the id of the run")
	}
	var shown shownApproval
	if err := json.Unmarshal(data, &shown); err != nil {
		return "", err
	}
	said, _ := c.req.Params.InputResponses[askApproval].(*mcp.ElicitResult)
	if said == nil || said.Action == "cancel" || !c.access.May(request.ScopeAdmin) {
		return shown.Run, nil
	}
	allowed, _ := said.Content["allow"].(bool)
	decision := decision{shown, said.Action == "accept" && allowed}
	_, err = c.cfg.Runs.Approve(ctx, c.access.Workspace, decision.Run, decision.Nodes, decision.Allow)
	c.cfg.Audit(ctx, "approve-run", decision, err)
	if errors.Is(err, run.ErrNotWaiting) { // somebody else was faster
		err = nil
	}
	return shown.Run, err
}
