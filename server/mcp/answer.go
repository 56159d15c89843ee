package mcpserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// soleAnswer answers a call in JSON where its event stream would hold the response alone, and as an event stream where
// progress or questions come first. So a client without event streams can call, and nothing that belongs to a call is
// lost. The first event is held until it is known which of the two it is.
//
// A message that the SDK refuses with a text and status 400 (an unknown method, missing params) is answered by a
// JSON-RPC error with its id, and a notification is ignored: clients take the status for the end of the connection.
type soleAnswer struct {
	http.ResponseWriter
	request  firstBytes // as far as it was read
	status   int
	held     []byte // the first event, if it is a response; or the text of a refusal
	refused  bool
	streamed bool
}

// firstBytes keeps the first 64 KiB written to it.
type firstBytes []byte

func (b *firstBytes) Write(p []byte) (int, error) {
	*b = append(*b, p[:min(len(p), 64<<10-len(*b))]...)
	return len(p), nil
}

// WriteHeader holds the status of an event stream or a refusal, and writes any other.
func (w *soleAnswer) WriteHeader(status int) {
	w.status = status
	contentType := w.Header().Get("Content-Type")
	w.refused = status == http.StatusBadRequest && strings.HasPrefix(contentType, "text/plain")
	if contentType != "text/event-stream" && !w.refused {
		w.streamed = true
		w.ResponseWriter.WriteHeader(status)
	}
}

func (w *soleAnswer) Write(event []byte) (int, error) {
	if !w.streamed && w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	if w.refused {
		w.held = append(w.held, event...)
		return len(event), nil
	}
	if !w.streamed && w.held == nil && isResponse(dataOf(event)) {
		w.held = bytes.Clone(event)
		return len(event), nil
	}
	if err := w.stream(); err != nil {
		return 0, err
	}
	return w.ResponseWriter.Write(event)
}

// Flush implements [http.Flusher].
func (w *soleAnswer) Flush() {
	if w.streamed {
		_ = http.NewResponseController(w.ResponseWriter).Flush()
	}
}

// Unwrap is for [http.ResponseController].
func (w *soleAnswer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// stream turns the answer into an event stream.
func (w *soleAnswer) stream() error {
	if w.streamed {
		return nil
	}
	w.streamed = true
	w.ResponseWriter.WriteHeader(w.status)
	_, err := w.ResponseWriter.Write(w.held)
	return err
}

// close writes what is held: the response as JSON, or the header of a stream without events.
func (w *soleAnswer) close() {
	if w.streamed || w.status == 0 {
		return
	}
	if w.refused {
		w.answerRefused()
		return
	}
	if w.held == nil {
		_ = w.stream()
		return
	}
	w.streamed = true
	w.Header().Set("Content-Type", "application/json")
	w.ResponseWriter.WriteHeader(w.status)
	_, _ = w.ResponseWriter.Write(append(dataOf(w.held), '\n')) // a client that is gone needs no answer
}

// answerRefused answers a message that the SDK does not take. What is no JSON-RPC message, or a batch, gets the status.
func (w *soleAnswer) answerRefused() {
	w.streamed = true
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	text := strings.TrimSpace(string(w.held))
	method := json.Unmarshal(w.request, &m) == nil && m.Method != ""
	switch {
	case !method:
		w.ResponseWriter.WriteHeader(w.status)
		_, _ = w.ResponseWriter.Write(w.held)
	case m.ID == nil:
		w.Header().Del("Content-Type")
		w.ResponseWriter.WriteHeader(http.StatusAccepted)
	default:
		code := jsonrpc.CodeInvalidParams
		if strings.HasPrefix(text, "JSON RPC not handled") {
			code, text = jsonrpc.CodeMethodNotFound, fmt.Sprintf("method %q not found", m.Method)
		}
		w.Header().Set("Content-Type", "application/json")
		w.ResponseWriter.WriteHeader(http.StatusOK)
		_ = json.NewEncoder(w.ResponseWriter).Encode(map[string]any{"jsonrpc": "2.0", "id": m.ID, "error": map[string]any{"code": code, "message": text}})
	}
}

// dataOf is the data of a server-sent event with one line of it; nil if there is none.
func dataOf(event []byte) []byte {
	for line := range bytes.Lines(event) {
		if data, ok := bytes.CutPrefix(line, []byte("data: ")); ok {
			return bytes.TrimSpace(data)
		}
	}
	return nil
}

// isResponse reports whether a JSON-RPC message is a response, not a request or notification.
func isResponse(message []byte) bool {
	var m struct {
		Method *string `json:"method"`
	}
	return len(message) > 0 && json.Unmarshal(message, &m) == nil && m.Method == nil
}
