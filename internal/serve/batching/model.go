package batching

import (
	"errors"
	"sync"

	"github.com/sftseq/sftseq/sft"
)

// Model computes batches. It counts its users; a retired model is released when the last user is done.
type Model struct {
	Scorer  *sft.Scorer
	Release func() // closes the device
	// Lost returns an error for the model's jobs if its argument means that the device is lost, and nil
	// otherwise. If Lost is nil, every error counts as a failure of the batch alone.
	Lost func(error) error

	mu      sync.Mutex
	users   int
	retired bool
}

// ErrReleased is the error of jobs whose model was already released.
var ErrReleased = errors.New("the model was released")

// Use adds a user, which must call Done. It returns false if the model was released.
func (m *Model) Use() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.retired && m.users == 0 {
		return false
	}
	m.users++
	return true
}

// Done removes a user.
func (m *Model) Done() {
	m.mu.Lock()
	m.users--
	free := m.retired && m.users == 0
	m.mu.Unlock()
	if free {
		m.Release()
	}
}

// Retire releases the model once it has no users.
func (m *Model) Retire() {
	m.mu.Lock()
	m.retired = true
	free := m.users == 0
	m.mu.Unlock()
	if free {
		m.Release()
	}
}

// lost calls Lost if it is set.
func (m *Model) lost(err error) error {
	if err == nil || m.Lost == nil {
		return nil
	}
	return m.Lost(err)
}
