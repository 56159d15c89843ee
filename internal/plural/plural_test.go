package plural

import "testing"

func TestOf(t *testing.T) {
	for want, got := range map[string]string{
		"1 task": Of(1, "task"), "0 tasks": Of(0, "task"), "2 hypotheses": Of(2, "hypothesis"), "1 hypothesis": Of(1, "hypothesis"),
		"3 capabilities": Of(uint64(3), "capability"), "2 entries": Of(2, "entry"), "4 days": Of(4, "day"), "2 tries": Of(2, "try"),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
