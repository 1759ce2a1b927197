package cluster

import (
	"strings"
	"sync"
)

// Tail keeps the end of what is written to it, for a message.
type Tail struct {
	mu   sync.Mutex
	kept []byte
}

const tailSize = 600

func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, p...)
	if over := len(t.kept) - tailSize; over > 0 {
		t.kept = append([]byte(nil), t.kept[over:]...)
	}
	return len(p), nil
}

// String returns what is kept, on one line.
func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(strings.Fields(strings.ToValidUTF8(string(t.kept), "")), " ")
}
