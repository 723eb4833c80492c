package cpu

import (
	"slices"
	"sync"

	"github.com/sftseq/sftseq/sinusoid"
)

// cosineTile is the number of consecutive values of t in a tile of cos(ω·t).
const cosineTile = 256

// maxCosines is the maximum number of words of cached cosines on a device: 32 MiB, enough for the
// tables of 64,000 tokens at dimension 128.
const maxCosines = 8 << 20

// cosineCache caches tiles of [sinusoid.Frequencies.Cosines], because every layer of every pass
// multiplies by the same cosines. When the cache is full, further tiles are computed each time,
// with bitwise identical results.
type cosineCache struct {
	mu    sync.Mutex
	tiles map[cosineKey][]float32
	words int
}

type cosineKey struct {
	*sinusoid.Frequencies
	tile int
}

// tile returns the cosines [Len+1, cosineTile] of tile i: either a cached slice, which the caller
// must not modify, or scratch, which has the length of the result.
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
