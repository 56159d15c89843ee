//lint:file-ignore SA1019 the suite tests sampling, roots and logging, which the protocol deprecates

package server

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// TestServeConformance serves what make conformance tests, until its standard input ends: the plain server and the
// gateway, both with the tools, prompts and resources that the official conformance suite calls, and an upstream
// server whose list has tools that are hard to publish. Their addresses are the first line of the output.
func TestServeConformance(t *testing.T) {
	if os.Getenv("WAYMARK_CONFORMANCE") == "" {
		t.Skip("for make conformance")
	}
	extend := func(c *Config) { c.extendMCP = fixtures }
	desk := newFrontDesk(t)
	nasty(desk)
	gateway, _ := officeWithDesk(t, extend)
	addresses := map[string]string{"upstream": desk.url}
	for name, s := range map[string]*Server{"plain": newOffice(t, extend), "gateway": gateway} {
		web := httptest.NewServer(s.Handler())
		t.Cleanup(web.Close)
		addresses[name] = web.URL + "/mcp"
	}
	line, err := json.Marshal(addresses)
	require.NoError(t, err)
	fmt.Println(string(line))
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// The smallest files of their kinds.
const (
	redPixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
	silence  = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
	watched  = "test://watched-resource"
)

func bytesOf(text string) []byte {
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		panic(err)
	}
	return data
}

func textContent(format string, args ...any) *mcp.TextContent {
	return &mcp.TextContent{Text: fmt.Sprintf(format, args...)}
}

func contents(c ...mcp.Content) *mcp.CallToolResult { return &mcp.CallToolResult{Content: c} }

// fixtures registers what the suite calls, under the names and with the answers that it prescribes.
func fixtures(o *mcp.ServerOptions) func(*mcp.Server) {
	o.Capabilities.Logging, o.Capabilities.Prompts = new(mcp.LoggingCapabilities), &mcp.PromptCapabilities{ListChanged: true}
	o.Capabilities.Tools.ListChanged = true
	o.SubscribeHandler = func(context.Context, *mcp.SubscribeRequest) error { return nil }
	o.UnsubscribeHandler = func(context.Context, *mcp.UnsubscribeRequest) error { return nil }
	o.CompletionHandler = func(_ context.Context, r *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
		return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: slices.DeleteFunc([]string{"paris", "park", "party"}, func(s string) bool { return !strings.HasPrefix(s, r.Params.Argument.Value) })}}, nil
	}
	return func(srv *mcp.Server) {
		contentFixtures(srv)
		noticeFixtures(srv)
		questionFixtures(srv)
		inputFixtures(srv)
		resourceFixtures(srv)
		promptFixtures(srv)
	}
}

// offerTool registers a tool by the schema of its input; none means no arguments.
func offerTool(srv *mcp.Server, name, schema string, handler mcp.ToolHandler) {
	if schema == "" {
		schema = `{"type":"object"}`
	}
	srv.AddTool(&mcp.Tool{Name: name, Description: "A tool of the conformance suite.", InputSchema: json.RawMessage(schema)}, handler)
}

func contentFixtures(srv *mcp.Server) {
	image := &mcp.ImageContent{Data: bytesOf(redPixel), MIMEType: "image/png"}
	embedded := func(uri, kind, text string) *mcp.EmbeddedResource {
		return &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: uri, MIMEType: kind, Text: text}}
	}
	for name, result := range map[string]*mcp.CallToolResult{
		"test_simple_text":       contents(textContent("This is a simple text response for testing.")),
		"test_image_content":     contents(image),
		"test_audio_content":     contents(&mcp.AudioContent{Data: bytesOf(silence), MIMEType: "audio/wav"}),
		"test_embedded_resource": contents(embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")),
		"test_multiple_content_types": contents(textContent("Multiple content types test:"), image,
			embedded("test://mixed-content-resource", "application/json", `{"test":"data","value":123}`)),
		"test_error_handling": {IsError: true, Content: []mcp.Content{textContent("This tool intentionally returns an error for testing")}},
		// An answer whose stream carries no requests of its own.
		"test_streaming_elicitation": contents(textContent("result frames only")),
	} {
		offerTool(srv, name, "", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return result, nil })
	}
	echo := func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return contents(textContent("%s", r.Params.Arguments)), nil
	}
	offerTool(srv, "json_schema_2020_12_tool", `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",
		"$defs":{"address":{"$anchor":"addressDef","type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"}}}},
		"properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"},"contactMethod":{"type":"string","enum":["phone","email"]},"phone":{"type":"string"},"email":{"type":"string"}},
		"allOf":[{"anyOf":[{"required":["phone"]},{"required":["email"]}]}],
		"if":{"properties":{"contactMethod":{"const":"phone"}},"required":["contactMethod"]},"then":{"required":["phone"]},"else":{"required":["email"]},
		"additionalProperties":false}`, echo)
	offerTool(srv, "test_x_mcp_header", `{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"level":{"type":"integer"}}}`, echo)
}

// noticeFixtures are tools that say something while they work, or change the lists.
func noticeFixtures(srv *mcp.Server) {
	logs := func(lines ...string) mcp.ToolHandler {
		return func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			for _, line := range lines {
				if err := r.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "info", Data: line}); err != nil {
					return nil, err
				}
				time.Sleep(50 * time.Millisecond) // prescribed
			}
			return contents(textContent("done")), nil
		}
	}
	offerTool(srv, "test_tool_with_logging", "", logs("Tool execution started", "Tool processing data", "Tool execution completed"))
	offerTool(srv, "test_logging_tool", "", logs("test_logging_tool executed"))
	offerTool(srv, "test_tool_with_progress", "", func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for _, done := range []float64{0, 50, 100} {
			if token := r.Params.GetProgressToken(); token != nil {
				_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: done, Total: 100})
			}
			time.Sleep(50 * time.Millisecond)
		}
		return contents(textContent("done")), nil
	})
	offerTool(srv, "test_reconnection", "", func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if r.Extra != nil && r.Extra.CloseSSEStream != nil {
			r.Extra.CloseSSEStream(mcp.CloseSSEStreamArgs{RetryAfter: 10 * time.Millisecond})
		}
		time.Sleep(100 * time.Millisecond)
		return contents(textContent("done")), nil
	})
	offerTool(srv, "test_trigger_tool_change", "", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		offerTool(srv, "test_transient_tool", "", logs())
		return contents(textContent("done")), nil
	})
	offerTool(srv, "test_trigger_prompt_change", "", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		srv.AddPrompt(&mcp.Prompt{Description: "A prompt of the suite.", Name: "test_transient_prompt"}, promptOf())
		return contents(textContent("done")), nil
	})
	offerTool(srv, "test_missing_capability", "", func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if caps := r.ClientCapabilities(); caps != nil && caps.Sampling != nil {
			return contents(textContent("done")), nil
		}
		data, err := json.Marshal(mcp.MissingRequiredClientCapabilityData{RequiredCapabilities: &mcp.ClientCapabilities{Sampling: new(mcp.SamplingCapabilities)}})
		if err != nil {
			return nil, err
		}
		return nil, &jsonrpc.Error{Code: mcp.CodeMissingRequiredClientCapabilities, Message: "sampling is required", Data: data}
	})
}

// objectOf is the schema of an object whose properties are all required.
func objectOf(properties string) json.RawMessage {
	var names map[string]json.RawMessage
	if err := json.Unmarshal([]byte(properties), &names); err != nil {
		panic(err)
	}
	required := []string{}
	for name := range names {
		required = append(required, name)
	}
	list, err := json.Marshal(required)
	if err != nil {
		panic(err)
	}
	return fmt.Appendf(nil, `{"type":"object","properties":%s,"required":%s}`, properties, list)
}

// questionFixtures ask the client by requests of their own, up to revision 2025-11-25.
func questionFixtures(srv *mcp.Server) {
	asks := func(schema json.RawMessage) mcp.ToolHandler {
		return func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			var in struct{ Message string }
			if err := json.Unmarshal(r.Params.Arguments, &in); err != nil {
				return nil, err
			}
			if in.Message == "" {
				in.Message = "Please fill in the form"
			}
			reply, err := r.Session.Elicit(ctx, &mcp.ElicitParams{Message: in.Message, RequestedSchema: schema})
			if err != nil {
				return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{textContent("%v", err)}}, nil
			}
			return contents(textContent("Elicitation completed: action=%s, content=%v", reply.Action, reply.Content)), nil
		}
	}
	offerTool(srv, "test_elicitation", string(objectOf(`{"message":{"type":"string"}}`)), asks(objectOf(`{"username":{"type":"string"},"email":{"type":"string"}}`)))
	offerTool(srv, "test_elicitation_sep1034_defaults", "", asks(json.RawMessage(`{"type":"object","properties":{
		"name":{"type":"string","default":"John Doe"},"age":{"type":"integer","default":30},"score":{"type":"number","default":95.5},
		"status":{"type":"string","enum":["active","inactive","pending"],"default":"active"},"verified":{"type":"boolean","default":true}}}`)))
	offerTool(srv, "test_elicitation_sep1330_enums", "", asks(json.RawMessage(`{"type":"object","properties":{
		"untitledSingle":{"type":"string","enum":["option1","option2","option3"]},
		"titledSingle":{"type":"string","oneOf":[{"const":"value1","title":"First Option"},{"const":"value2","title":"Second Option"},{"const":"value3","title":"Third Option"}]},
		"legacyEnum":{"type":"string","enum":["opt1","opt2","opt3"],"enumNames":["Option One","Option Two","Option Three"]},
		"untitledMulti":{"type":"array","items":{"type":"string","enum":["option1","option2","option3"]}},
		"titledMulti":{"type":"array","items":{"anyOf":[{"const":"value1","title":"First Choice"},{"const":"value2","title":"Second Choice"},{"const":"value3","title":"Third Choice"}]}}}}`)))
	offerTool(srv, "test_sampling", string(objectOf(`{"prompt":{"type":"string"}}`)), func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var in struct{ Prompt string }
		if err := json.Unmarshal(r.Params.Arguments, &in); err != nil {
			return nil, err
		}
		reply, err := r.Session.CreateMessage(ctx, askModel(in.Prompt, 100))
		if err != nil {
			return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{textContent("%v", err)}}, nil
		}
		return contents(textContent("LLM response: %v", reply.Content)), nil
	})
}

func askModel(prompt string, tokens int64) *mcp.CreateMessageParams {
	return &mcp.CreateMessageParams{Messages: []*mcp.SamplingMessage{{Role: "user", Content: textContent("%s", prompt)}}, MaxTokens: tokens}
}

func form(message, properties string) *mcp.ElicitParams {
	return &mcp.ElicitParams{Message: message, RequestedSchema: objectOf(properties)}
}

// accepted reports whether a question was answered; for a form with the field given.
func accepted(responses mcp.InputResponseMap, key, field string) bool {
	switch reply := responses[key].(type) {
	case *mcp.ElicitResult:
		_, there := reply.Content[field]
		return reply.Action == "accept" && there
	case nil:
		return false
	default:
		return true
	}
}

// round is one question of a tool that asks in its results, from revision 2026-07-28 on.
type round struct {
	ask   mcp.InputRequestMap
	field string // of the form
	state string // goes with the question; its answer has to bring it back
}

// inputFixtures ask the client in their results.
func inputFixtures(srv *mcp.Server) {
	const name, ok = `{"name":{"type":"string"}}`, `{"ok":{"type":"boolean"}}`
	confirm := mcp.InputRequestMap{"confirm": form("Please confirm", ok)}
	all := mcp.InputRequestMap{"user_name": form("What is your name?", name), "greeting": askModel("Generate a greeting", 50), "client_roots": new(mcp.ListRootsParams)}
	for tool, rounds := range map[string][]round{
		"test_input_required_result_elicitation":     {{mcp.InputRequestMap{"user_name": all["user_name"]}, "name", ""}},
		"test_input_required_result_sampling":        {{mcp.InputRequestMap{"capital_question": askModel("What is the capital of France?", 100)}, "", ""}},
		"test_input_required_result_list_roots":      {{mcp.InputRequestMap{"client_roots": all["client_roots"]}, "", ""}},
		"test_input_required_result_request_state":   {{confirm, "ok", "first"}},
		"test_input_required_result_tampered_state":  {{confirm, "ok", "first"}},
		"test_input_required_result_multiple_inputs": {{all, "name", "first"}},
		"test_input_required_result_multi_round": {{mcp.InputRequestMap{"step1": form("Step 1: What is your name?", name)}, "name", "first"},
			{mcp.InputRequestMap{"step2": form("Step 2: What is your favorite color?", `{"color":{"type":"string"}}`)}, "color", "second"}},
	} {
		offerTool(srv, tool, "", func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return askRounds(r, rounds)
		})
	}
	offerTool(srv, "test_input_required_result_capabilities", "", func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		ask, caps := mcp.InputRequestMap{}, r.ClientCapabilities()
		if caps != nil && caps.Elicitation != nil {
			ask["user_name"] = all["user_name"]
		}
		if caps != nil && caps.Sampling != nil {
			ask["greeting"] = all["greeting"]
		}
		if len(ask) == 0 || len(r.Params.InputResponses) > 0 {
			return contents(textContent("done")), nil
		}
		return &mcp.CallToolResult{InputRequests: ask}, nil
	})
}

// askRounds asks the first question that is not answered. The state says which questions were; another state than
// those handed out is an error.
func askRounds(r *mcp.CallToolRequest, rounds []round) (*mcp.CallToolResult, error) {
	next := 0
	if state := r.Params.RequestState; state != "" {
		for next = 0; next < len(rounds) && rounds[next].state != state; next++ {
		}
		if next == len(rounds) {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "requestState is not one of this server"}
		}
	}
	answered := true
	for key := range rounds[next].ask {
		answered = answered && accepted(r.Params.InputResponses, key, rounds[next].field)
	}
	if answered {
		next++
	}
	if next < len(rounds) {
		return &mcp.CallToolResult{InputRequests: rounds[next].ask, RequestState: rounds[next].state}, nil
	}
	var replies []mcp.Content
	for _, reply := range r.Params.InputResponses {
		switch reply := reply.(type) {
		case *mcp.ElicitResult:
			replies = append(replies, textContent("Hello, %v!", reply.Content["name"]))
		case *mcp.CreateMessageWithToolsResult:
			replies = append(replies, reply.Content...)
		case *mcp.ListRootsResult:
			for _, root := range reply.Roots {
				replies = append(replies, textContent("%s", root.URI))
			}
		}
	}
	return contents(append(replies, textContent("state-ok"))...), nil
}

func resourceFixtures(srv *mcp.Server) {
	for uri, c := range map[string]mcp.ResourceContents{
		"test://static-text":   {MIMEType: "text/plain", Text: "This is the content of the static text resource."},
		"test://static-binary": {MIMEType: "image/png", Blob: bytesOf(redPixel)},
		watched:                {MIMEType: "text/plain", Text: "Watched resource content"},
	} {
		c.URI = uri
		srv.AddResource(&mcp.Resource{URI: uri, Name: strings.TrimPrefix(uri, "test://"), MIMEType: c.MIMEType}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{&c}}, nil
		})
	}
	srv.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "test://template/{id}/data", Name: "template", MIMEType: "application/json"},
		func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			id := strings.TrimSuffix(strings.TrimPrefix(r.Params.URI, "test://template/"), "/data")
			text := fmt.Sprintf(`{"id":%q,"templateTest":true,"data":"Data for ID: %s"}`, id, id)
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: r.Params.URI, MIMEType: "application/json", Text: text}}}, nil
		})
}

func promptOf(c ...mcp.Content) mcp.PromptHandler {
	return func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		result := &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{}}
		for _, one := range c {
			result.Messages = append(result.Messages, &mcp.PromptMessage{Role: "user", Content: one})
		}
		return result, nil
	}
}

func promptFixtures(srv *mcp.Server) {
	argument := func(name string) *mcp.PromptArgument { return &mcp.PromptArgument{Name: name, Required: true} }
	srv.AddPrompt(&mcp.Prompt{Description: "A prompt of the suite.", Name: "test_simple_prompt"}, promptOf(textContent("This is a simple prompt for testing.")))
	srv.AddPrompt(&mcp.Prompt{Description: "A prompt of the suite.", Name: "test_prompt_with_image"},
		promptOf(&mcp.ImageContent{Data: bytesOf(redPixel), MIMEType: "image/png"}, textContent("Please analyze the image above.")))
	srv.AddPrompt(&mcp.Prompt{Description: "A prompt of the suite.", Name: "test_prompt_with_arguments", Arguments: []*mcp.PromptArgument{argument("arg1"), argument("arg2")}},
		func(ctx context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			a := r.Params.Arguments
			return promptOf(textContent("Prompt with arguments: arg1='%s', arg2='%s'", a["arg1"], a["arg2"]))(ctx, r)
		})
	srv.AddPrompt(&mcp.Prompt{Description: "A prompt of the suite.", Name: "test_prompt_with_embedded_resource", Arguments: []*mcp.PromptArgument{argument("resourceUri")}},
		func(ctx context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			resource := &mcp.ResourceContents{URI: r.Params.Arguments["resourceUri"], MIMEType: "text/plain", Text: "Embedded resource content for testing."}
			return promptOf(&mcp.EmbeddedResource{Resource: resource}, textContent("Please process the embedded resource above."))(ctx, r)
		})
	srv.AddPrompt(&mcp.Prompt{Description: "A prompt of the suite.", Name: "test_input_required_result_prompt"},
		func(ctx context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			if accepted(r.Params.InputResponses, "user_context", "context") {
				return promptOf(textContent("Context: %v", r.Params.InputResponses["user_context"].(*mcp.ElicitResult).Content["context"]))(ctx, r)
			}
			return &mcp.GetPromptResult{InputRequests: mcp.InputRequestMap{"user_context": form("Which context?", `{"context":{"type":"string"}}`)}}, nil
		})
}
