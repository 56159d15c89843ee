package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"waymark/live"
	"waymark/server"
	"waymark/storage"
)

// A session: three tasks are recorded, and the server is asked what comes after reading a file.
func ExampleServer_Handler() {
	store := storage.NewMemory()
	defer store.Close()
	workspaces := live.NewWorkspaces(store, live.Options{})
	defer workspaces.Close(context.Background())
	s, err := server.New(server.Config{Store: store, Workspaces: workspaces})
	if err != nil {
		panic(err)
	}
	web := httptest.NewServer(s.Handler())
	defer web.Close()

	post := func(path, kind, body string, answer any) {
		resp, err := http.Post(web.URL+path, kind, strings.NewReader(body))
		if err != nil {
			panic(err)
		}
		defer resp.Body.Close()
		if err := json.NewDecoder(resp.Body).Decode(answer); err != nil {
			panic(err)
		}
	}
	var recorded struct{ Accepted, Seq int }
	post("/v1/episodes", "application/x-ndjson", `
		{"id":"monday","steps":[{"tool":"fs:read_file"},{"tool":"json:parse"}]}
		{"id":"tuesday","steps":[{"tool":"fs:read_file"},{"tool":"json:parse"}]}
		{"id":"friday","steps":[{"tool":"fs:read_file"},{"tool":"csv:parse"}]}`, &recorded)
	fmt.Println(recorded.Accepted, "episodes")

	var next struct {
		Suggestions []struct {
			ID       string
			Evidence struct{ Count, Of int }
		}
	}
	post("/v1/next", "application/json", fmt.Sprintf(`{"context":["fs:read_file"],"min_seq":%d}`, recorded.Seq), &next)
	for _, s := range next.Suggestions {
		fmt.Printf("%s, %d of %d times\n", s.ID, s.Evidence.Count, s.Evidence.Of)
	}
	// Output:
	// 3 episodes
	// json:parse, 2 of 3 times
	// csv:parse, 1 of 3 times
}
