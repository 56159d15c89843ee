package server

import (
	"math"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/gin-gonic/gin"
	"golang.org/x/time/rate"

	"waymark/server/internal/problem"
	"waymark/server/internal/request"
)

// buckets holds a token bucket for each credential. A credential's bucket appears with its first
// request, so there are at most as many as keys; should they be many, the idle (full) ones go.
type buckets struct {
	mu sync.Mutex
	of map[string]*rate.Limiter
}

const maxBuckets = 4096

func (b *buckets) get(credential string, perSecond float64, burst int) *rate.Limiter {
	b.mu.Lock()
	defer b.mu.Unlock()
	l, ok := b.of[credential]
	if !ok {
		if b.of == nil {
			b.of = map[string]*rate.Limiter{}
		}
		if len(b.of) >= maxBuckets {
			for k, old := range b.of {
				if old.Tokens() >= float64(old.Burst()) {
					delete(b.of, k)
				}
			}
		}
		l = rate.NewLimiter(rate.Limit(perSecond), burst)
		b.of[credential] = l
	}
	return l
}

// limitRate answers 429 to a credential that asks faster than its bucket fills.
func (s *Server) limitRate(c *gin.Context) {
	a := request.From(c.Request.Context())
	if s.cfg.Rate < 0 || a.Workspace == "" {
		c.Next()
		return
	}
	credential := a.Source
	if a.Local {
		credential = "local token" // whatever source it claims
	}
	perSecond, burst := s.cfg.Rate, s.cfg.Burst
	if a.Operator { // one machine's own tools, among them load tests
		perSecond, burst = 10*perSecond, 10*burst
	}
	reservation := s.rates.get(credential, perSecond, burst).ReserveN(time.Now(), 1)
	if wait := reservation.Delay(); wait > 0 {
		reservation.Cancel()
		s.metrics.limited.Inc()
		s.metrics.of(a.Workspace).limited.Inc()
		c.Header("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
		problem.Fail(c, problem.New(http.StatusTooManyRequests, "too many requests with this credential"))
		return
	}
	c.Next()
}
