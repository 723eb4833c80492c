package distributed

import (
	"fmt"
	"slices"
	"sync"
)

// localWorld is the state that all ranks of a process share: the message of each rank, and a barrier.
type localWorld struct {
	size int

	mu      sync.Mutex
	arrived *sync.Cond
	waiting int
	round   int
	sent    []localMessage
}

type localMessage struct {
	call   string
	words  []uint32
	counts []int
}

// Local is a rank that runs as a goroutine of this process, for tests with several ranks.
type Local struct {
	*localWorld
	rank int
}

// NewLocal returns connected communicators, one for each rank. size is the number of ranks.
func NewLocal(size int) []*Local {
	w := &localWorld{size: size, sent: make([]localMessage, size)}
	w.arrived = sync.NewCond(&w.mu)
	out := make([]*Local, size)
	for r := range out {
		out[r] = &Local{w, r}
	}
	return out
}

// Rank implements [Communicator].
func (c *Local) Rank() int { return c.rank }

// Size returns the number of ranks.
func (c *Local) Size() int { return c.size }

// exchange passes the messages of all ranks to visit, on every rank, and returns after visit has
// returned on all ranks.
func (c *Local) exchange(m localMessage, visit func(sent []localMessage) error) error {
	c.mu.Lock()
	c.sent[c.rank] = m
	c.mu.Unlock()
	c.wait()
	err := visit(c.sent)
	c.wait()
	return err
}

// wait is a barrier.
func (c *Local) wait() {
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

// AllGather implements [Communicator].
func (c *Local) AllGather(send, receive []uint32, counts []int) error {
	return c.exchange(localMessage{"AllGather", send, counts}, func(sent []localMessage) error {
		for r, m := range sent {
			if m.call != "AllGather" || len(m.words) != counts[r] || !slices.Equal(m.counts, counts) {
				return fmt.Errorf("rank %d is in AllGather with counts %v, rank %d in %s with %d words and counts %v",
					c.rank, counts, r, m.call, len(m.words), m.counts)
			}
			receive = receive[copy(receive[:counts[r]], m.words):]
		}
		return nil
	})
}

// AllToAll implements [Communicator].
func (c *Local) AllToAll(send []uint32, sendCounts []int, receive []uint32, receiveCounts []int) error {
	return c.exchange(localMessage{"AllToAll", send, sendCounts}, func(sent []localMessage) error {
		for r, m := range sent {
			if m.call != "AllToAll" || m.counts[c.rank] != receiveCounts[r] {
				return fmt.Errorf("rank %d is in AllToAll and expects %d words from rank %d, which is in %s with "+
					"counts %v", c.rank, receiveCounts[r], r, m.call, m.counts)
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
