package server

import (
	"bytes"
	"encoding/json"
	"net/http"
)

// soleAnswer answers a call in JSON where its event stream would hold the response alone, and as an event stream where
// progress or questions come first. So a client without event streams can call, and nothing that belongs to a call is
// lost. The first event is held until it is known which of the two it is.
type soleAnswer struct {
	http.ResponseWriter
	status   int
	held     []byte // the first event, if it is a response
	streamed bool
}

// WriteHeader holds the status of an event stream, and writes any other.
func (w *soleAnswer) WriteHeader(status int) {
	if w.status = status; w.Header().Get("Content-Type") != "text/event-stream" {
		w.streamed = true
		w.ResponseWriter.WriteHeader(status)
	}
}

func (w *soleAnswer) Write(event []byte) (int, error) {
	if !w.streamed && w.status == 0 {
		w.WriteHeader(http.StatusOK)
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
	if w.held == nil {
		_ = w.stream()
		return
	}
	w.streamed = true
	w.Header().Set("Content-Type", "application/json")
	w.ResponseWriter.WriteHeader(w.status)
	_, _ = w.ResponseWriter.Write(append(dataOf(w.held), '\n')) // a client that is gone needs no answer
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
