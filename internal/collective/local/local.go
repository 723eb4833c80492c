// Package local connects ranks that are goroutines of one process: for tests of what runs
// on several.
package local

import (
	"fmt"
	"slices"
	"sync"
)

// world is what its ranks share: a place for what each sends, and a barrier.
type world struct {
	size int

	mu      sync.Mutex
	arrived *sync.Cond
	waiting int
	round   int
	sent    []message
}

type message struct {
	call   string
	words  []uint32
	counts []int
}

// Communicator is one rank.
type Communicator struct {
	*world
	rank int
}

// New returns the communicators of so many ranks.
func New(size int) []*Communicator {
	w := &world{size: size, sent: make([]message, size)}
	w.arrived = sync.NewCond(&w.mu)
	out := make([]*Communicator, size)
	for r := range out {
		out[r] = &Communicator{w, r}
	}
	return out
}

// Rank is that of the communicator.
func (c *Communicator) Rank() int { return c.rank }

// Size is the number of ranks.
func (c *Communicator) Size() int { return c.size }

// exchange shows all ranks what each sends, until all have looked.
func (c *Communicator) exchange(m message, look func(sent []message) error) error {
	c.mu.Lock()
	c.sent[c.rank] = m
	c.mu.Unlock()
	c.wait()
	err := look(c.sent)
	c.wait()
	return err
}

// wait is a barrier.
func (c *Communicator) wait() {
	c.mu.Lock()
	defer c.mu.Unlock()
	round := c.round
	if c.waiting++; c.waiting == c.size {
		c.waiting, c.round = 0, round+1
		c.arrived.Broadcast()
		return
	}
	for c.round == round {
		c.arrived.Wait()
	}
}

// AllGather is that of a communicator.
func (c *Communicator) AllGather(send, receive []uint32, counts []int) error {
	return c.exchange(message{"AllGather", send, counts}, func(sent []message) error {
		for r, m := range sent {
			if m.call != "AllGather" || len(m.words) != counts[r] || !slices.Equal(m.counts, counts) {
				return fmt.Errorf("rank %d is in AllGather with counts %v, rank %d in %s with %d words and counts %v", c.rank, counts, r, m.call, len(m.words), m.counts)
			}
			receive = receive[copy(receive[:counts[r]], m.words):]
		}
		return nil
	})
}

// AllToAll is that of a communicator.
func (c *Communicator) AllToAll(send []uint32, sendCounts []int, receive []uint32, receiveCounts []int) error {
	return c.exchange(message{"AllToAll", send, sendCounts}, func(sent []message) error {
		for r, m := range sent {
			if m.call != "AllToAll" || m.counts[c.rank] != receiveCounts[r] {
				return fmt.Errorf("rank %d is in AllToAll and expects %d words of rank %d, which is in %s with counts %v", c.rank, receiveCounts[r], r, m.call, m.counts)
			}
			at := 0
			for _, n := range m.counts[:c.rank] {
				at += n
			}
			receive = receive[copy(receive[:receiveCounts[r]], m.words[at:]):]
		}
		return nil
	})
}
