package gateway

import (
	"strconv"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"waymark/catalog"
)

// listeners are the calls of one connection whose progress somebody follows, by the token that they were
// sent with.
type listeners struct {
	mu   sync.Mutex
	last int
	open map[string]chan mcp.ProgressNotificationParams
}

// listen has tell told of the progress of one call until stop is called, which waits for what is being told.
// A slow listener holds up nobody: of several reports it gets the newest.
func (l *listeners) listen(tell func(done, total float64, message string)) (token string, stop func()) {
	reports := make(chan mcp.ProgressNotificationParams, 1)
	l.mu.Lock()
	l.last++
	token = "call-" + strconv.Itoa(l.last)
	if l.open == nil {
		l.open = map[string]chan mcp.ProgressNotificationParams{}
	}
	l.open[token] = reports
	l.mu.Unlock()
	told := make(chan struct{})
	go func() {
		defer close(told)
		for p := range reports {
			tell(p.Progress, p.Total, catalog.Cut(p.Message, messageBytes))
		}
	}()
	return token, func() {
		l.mu.Lock()
		delete(l.open, token)
		close(reports)
		l.mu.Unlock()
		<-told
	}
}

// report passes on what a server says. What belongs to no call of ours, or to one that is over, is nothing.
func (l *listeners) report(p *mcp.ProgressNotificationParams) {
	token, _ := p.ProgressToken.(string)
	l.mu.Lock()
	defer l.mu.Unlock()
	reports, ok := l.open[token]
	if !ok {
		return
	}
	select {
	case <-reports: // nobody took the one before
	default:
	}
	reports <- *p // there is room: only we send
}
