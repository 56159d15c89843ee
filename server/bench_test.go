package server

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// What a request costs beside the model: middleware, strict JSON twice, validation, the answer.
func BenchmarkNext(b *testing.B) {
	s := newOffice(b, func(c *Config) {
		c.Rate = -1
		c.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
	})
	const body = `{"context":["fs:read_file"],"intent":"reformat a json file","limit":5}`
	b.Run("over=handler", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			r := httptest.NewRequest("POST", "http://localhost/v1/next", strings.NewReader(body))
			r.Header.Set("Content-Type", "application/json")
			w := httptest.NewRecorder()
			s.Handler().ServeHTTP(w, r)
			if w.Code != http.StatusOK {
				b.Fatal(w.Body)
			}
		}
	})
	web := httptest.NewServer(s.Handler())
	defer web.Close()
	b.Run("over=loopback", func(b *testing.B) {
		for b.Loop() {
			resp, err := http.Post(web.URL+"/v1/next", "application/json", strings.NewReader(body))
			if err != nil {
				b.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
	})
}
