package batching

import (
	"errors"
	"sync"

	"github.com/sftseq/sftseq/sft"
)

// Model computes batches. It is there as long as somebody uses it: once it was retired, and
// nobody uses it any more, it is released.
type Model struct {
	Scorer  *sft.Scorer
	Release func() // ends the use of the device
	// Lost is what jobs end with if an error says that the device computes no more, nil
	// if it says nothing of the kind. Without it no error does.
	Lost func(error) error

	mu      sync.Mutex
	users   int
	retired bool
}

// ErrReleased is what jobs end with whose model was released before.
var ErrReleased = errors.New("the model was released")

// Use counts one more user, who calls Done; false if the model was released.
func (m *Model) Use() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.retired && m.users == 0 {
		return false
	}
	m.users++
	return true
}

// Done ends a use.
func (m *Model) Done() {
	m.mu.Lock()
	m.users--
	free := m.retired && m.users == 0
	m.mu.Unlock()
	if free {
		m.Release()
	}
}

// Retire has the model released once nobody uses it.
func (m *Model) Retire() {
	m.mu.Lock()
	m.retired = true
	free := m.users == 0
	m.mu.Unlock()
	if free {
		m.Release()
	}
}

// lost is what Lost says.
func (m *Model) lost(err error) error {
	if err == nil || m.Lost == nil {
		return nil
	}
	return m.Lost(err)
}
