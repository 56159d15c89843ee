package gateway

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"
)

// The test binary is also the servers that the tests start: real processes that speak MCP, well or badly.
const roleVariable = "GATEWAY_TEST_SERVER"

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		beServer(role)
		os.Exit(0)
	}

	goleak.VerifyTestMain(m, goleak.IgnoreCurrent())
}

func beServer(role string) {
	switch {
	case role == "good":
		if err := goodServer().Run(context.Background(), &mcp.StdioTransport{}); err != nil {
			log.Fatal(err)
		}
	case role == "dumb": // says nothing ever, and outlives its input
		_, _ = io.Copy(io.Discard, os.Stdin)
		time.Sleep(time.Hour)
	case role == "dies":
		fmt.Fprintln(os.Stderr, "cannot find my database")
		os.Exit(7)
	default:
		(&rawServer{role: role, out: os.Stdout}).serve(os.Stdin)
	}
}

type echoed struct {
	Text string `json:"text"`
}

var yes, no = true, false

// goodServer is what a server looks like that is written with an SDK.
func goodServer() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "good"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "echo", Description: "Say it again.", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
		func(_ context.Context, _ *mcp.CallToolRequest, in echoed) (*mcp.CallToolResult, echoed, error) {
			return nil, in, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "fail", Description: "Never works.", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
		func(_ context.Context, _ *mcp.CallToolRequest, in echoed) (*mcp.CallToolResult, any, error) {
			return nil, nil, fmt.Errorf("%s", in.Text)
		})
	mcp.AddTool(s, &mcp.Tool{Name: "environment", Description: "What it can see.", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
		func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, echoed, error) {
			return nil, echoed{strings.Join(os.Environ(), "\n")}, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "wait", Description: "Takes its time.", Annotations: &mcp.ToolAnnotations{DestructiveHint: &no}},
		func(ctx context.Context, _ *mcp.CallToolRequest, in struct {
			MS int `json:"ms"`
		}) (*mcp.CallToolResult, any, error) {
			select {
			case <-time.After(time.Duration(in.MS) * time.Millisecond):
			case <-ctx.Done():
				fmt.Fprintln(os.Stderr, "cancelled")
			}
			return nil, nil, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "count", Description: "Counts aloud.", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
		func(ctx context.Context, r *mcp.CallToolRequest, in struct {
			To int `json:"to"`
		}) (*mcp.CallToolResult, any, error) {
			for i := range in.To {
				time.Sleep(5 * time.Millisecond)
				p := &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: float64(i + 1), Total: float64(in.To), Message: fmt.Sprint("at ", i+1)}
				if err := r.Session.NotifyProgress(ctx, p); err != nil {
					return nil, nil, err
				}
			}
			return nil, nil, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "delete", Description: "Deletes it.", Annotations: &mcp.ToolAnnotations{DestructiveHint: &yes}},
		func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			return nil, nil, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "spawn", Description: "Starts another process and forgets it."}, spawn)
	s.AddTool(&mcp.Tool{Name: "ask", Description: "Asks back.", InputSchema: json.RawMessage(`{"type":"object"}`), Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
		func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if len(r.Params.InputResponses) == 0 {
				return &mcp.CallToolResult{RequestState: "kept", InputRequests: mcp.InputRequestMap{"name": &mcp.ElicitParams{Message: "who?"}}}, nil
			}
			name := r.Params.InputResponses["name"].(*mcp.ElicitResult).Content["name"]
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprint(name, " ", r.Params.RequestState)}}}, nil
		})
	return s
}

// spawn begins another process in the group of its server.
func spawn(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, echoed, error) {
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), roleVariable+"=dumb")
	if err := c.Start(); err != nil {
		return nil, echoed{}, err
	}
	return nil, echoed{strconv.Itoa(c.Process.Pid)}, nil
}

// rawServer writes its messages by hand, and does so wrongly as its role says.
type rawServer struct {
	role string
	mu   sync.Mutex
	out  io.Writer
}

func (s *rawServer) line(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(s.out, format+"\n", args...)
}

func (s *rawServer) serve(in io.Reader) {
	if s.role == "noise" {
		s.line("Welcome to the noisy server!")
		s.line(`{"level":"info"}`)
	}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params struct{ Cursor string }
		}
		if json.Unmarshal(lines.Bytes(), &m) != nil {
			continue
		}
		switch m.Method {
		case "initialize":
			s.line(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"raw","version":"1"}}}`, m.ID)
			if flood := map[string]string{"storm": `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`, "pings": `{"jsonrpc":"2.0","id":"p","method":"ping"}`}[s.role]; flood != "" {
				go func() {
					for {
						s.line("%s", flood)
					}
				}()
			}
		case "ping":
			if s.role != "hang" {
				s.line(`{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID)
			}
		case "tools/list":
			s.list(m.ID, m.Params.Cursor)
		case "tools/call":
			go s.call(m.ID)
		default:
			if m.ID != nil {
				s.line(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`, m.ID)
			}
		}
	}
}

const rawTool = `{"name":"go","description":"Does it.","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}`

func (s *rawServer) list(id json.RawMessage, cursor string) {
	switch s.role {
	case "endless":
		page, _ := strconv.Atoi(cursor)
		s.line(`{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"t%d","inputSchema":{"type":"object"}}],"nextCursor":"%d"}}`, id, page, page+1)
	case "circle":
		s.line(`{"jsonrpc":"2.0","id":%s,"result":{"tools":[],"nextCursor":"same"}}`, id)
	case "twice":
		s.line(`{"jsonrpc":"2.0","id":%s,"result":{"tools":[%s},%s}]}}`, id, rawTool, rawTool)
	case "wrongschema":
		s.line(`{"jsonrpc":"2.0","id":%s,"result":{"tools":[%s,"outputSchema":{"type":"object","required":["n"],"properties":{"n":{"type":"integer"}}}}]}}`, id, rawTool)
	case "turns":
		text := "Does it."
		if b, err := os.ReadFile(os.Getenv("TURN_FILE")); err == nil {
			text = string(b)
		}
		description, _ := json.Marshal(text)
		s.line(`{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"go","description":%s,"inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}]}}`, id, description)
	default:
		s.line(`{"jsonrpc":"2.0","id":%s,"result":{"tools":[%s}]}}`, id, rawTool)
	}
}

func (s *rawServer) call(id json.RawMessage) {
	switch s.role {
	case "hang":
		return
	case "exit":
		fmt.Fprintln(os.Stderr, "out of memory")
		os.Exit(3)
	case "null":
		s.line(`{"jsonrpc":"2.0","id":%s,"result":null}`, id)
	case "empty":
		s.line(`{"jsonrpc":"2.0","id":%s,"result":{}}`, id)
	case "huge", "hugelast":
		s.mu.Lock()
		defer s.mu.Unlock()
		w := bufio.NewWriterSize(s.out, 1<<20)
		if s.role == "huge" {
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"`, id)
		} else {
			fmt.Fprint(w, `{"jsonrpc":"2.0","result":{"content":[{"type":"text","text":"`)
		}
		x := strings.Repeat("x", 1<<20)
		for range 100 {
			fmt.Fprint(w, x)
		}
		if s.role == "huge" {
			fmt.Fprintln(w, `"}]}}`)
		} else {
			fmt.Fprintf(w, "\"}]},\"id\":%s}\n", id)
		}
		_ = w.Flush()
	case "drip":
		s.mu.Lock()
		defer s.mu.Unlock()
		fmt.Fprintf(s.out, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"`, id)
		for {
			fmt.Fprint(s.out, "x")
			time.Sleep(20 * time.Millisecond)
		}
	case "noise":
		s.line("DEBUG handling a call")
		s.line(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"done"}]}}`, id)
		s.line("warning: {unbalanced")
	case "wrongschema":
		s.line(`{"jsonrpc":"2.0","id":%s,"result":{"content":[],"structuredContent":{"n":"seven"}}}`, id)
	case "digits":
		s.line(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"x","more":1}],"structuredContent":{"id":9007199254740993,"z":1.50}}}`, id)
	case "refuses":
		s.line(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"n must be positive"}}`, id)
	default:
		s.line(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"done"}]}}`, id)
	}
}
