package cpu

import (
	"slices"
	"sync"

	"github.com/sftseq/sftseq/sinusoid"
)

// cosineTile is the number of consecutive t's of one tile.
const cosineTile = 256

// maxCosines is the maximum size of the cosines that a device keeps, in words: 32 MiB, the tables
// of 64,000 tokens at dimension 128.
const maxCosines = 8 << 20

// cosineCache keeps tiles of [sinusoid.Frequencies.Cosines]: every layer of every pass multiplies
// by the same ones. When it is full, further tiles are computed each time, which gives the same
// bits.
type cosineCache struct {
	mu    sync.Mutex
	tiles map[cosineKey][]float32
	words int
}

type cosineKey struct {
	*sinusoid.Frequencies
	tile int
}

// tile returns the cosines [Len+1, cosineTile] of tile i, possibly in scratch. The caller must not
// modify them.
func (c *cosineCache) tile(q *sinusoid.Frequencies, i int, scratch []float32) []float32 {
	key := cosineKey{q, i}
	c.mu.Lock()
	known := c.tiles[key]
	c.mu.Unlock()
	if known != nil {
		return known
	}
	q.Cosines(scratch, i*cosineTile, cosineTile)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tiles[key] == nil && c.words+len(scratch) <= maxCosines {
		if c.tiles == nil {
			c.tiles = map[cosineKey][]float32{}
		}
		c.tiles[key] = slices.Clone(scratch)
		c.words += len(scratch)
	}
	return scratch
}
