package model

import (
	"container/list"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"sync"

	"github.com/sftseq/sftseq/internal/recent"
)

// exportCache keeps the exported rows of chunks by the hash of their tokens. It drops the chunks that
// were not used for the longest time. The hash is cryptographic, because different clients of a
// server share the cache. It is safe for concurrent use.
type exportCache struct {
	versions *recent.List[[]keyedChunk]

	mu       sync.Mutex
	limit    int64 // maximum of bytes
	bytes    int64
	entries  map[chunkKey]*list.Element // values are *cachedExports
	order    list.List                  // most recently used first
	computed int64
	reused   int64
}

// chunkKey is the SHA-256 of a chunk's tokens.
type chunkKey [sha256.Size]byte

// keyOf returns the key of a chunk of tokens below vocab.
func keyOf(tokens []int32, vocab int) (key chunkKey) {
	h := sha256.New()
	var block [4096]byte
	width := 4
	if vocab <= 1<<16 {
		width = 2
	}
	for len(tokens) > 0 {
		n := min(len(tokens), len(block)/width)
		for i, token := range tokens[:n] {
			if width == 2 {
				binary.LittleEndian.PutUint16(block[2*i:], uint16(token))
			} else {
				binary.LittleEndian.PutUint32(block[4*i:], uint32(token))
			}
		}
		h.Write(block[:width*n])
		tokens = tokens[n:]
	}
	h.Sum(key[:0])
	return key
}

// cachedExports is an entry of the cache.
type cachedExports struct {
	key  chunkKey
	rows []float32
}

// entryBytes is the memory of an entry without its rows: key, list element and a slot of the map.
const entryBytes = 200

// newExportCache returns a cache that takes up to limit bytes, half of them for documents' tokens.
func newExportCache(limit int64) *exportCache {
	return &exportCache{versions: recent.NewList[[]keyedChunk](limit / 2), limit: limit - limit/2,
		entries: map[chunkKey]*list.Element{}}
}

// get returns the exported rows of a chunk, or nil.
func (c *exportCache) get(key chunkKey) []float32 {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.entries[key]
	if !ok {
		return nil
	}
	c.reused++
	c.order.MoveToFront(e)
	return e.Value.(*cachedExports).rows
}

// countReused counts a chunk that occurs twice in a call.
func (c *exportCache) countReused() {
	c.mu.Lock()
	c.reused++
	c.mu.Unlock()
}

// add adds the computed rows of a chunk.
func (c *exportCache) add(key chunkKey, rows []float32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.computed++
	if _, ok := c.entries[key]; ok || sizeOf(rows) > c.limit { // ok: a concurrent call has computed it, too
		return
	}
	c.entries[key] = c.order.PushFront(&cachedExports{key, rows})
	c.bytes += sizeOf(rows)
	for c.bytes > c.limit {
		e := c.order.Remove(c.order.Back()).(*cachedExports)
		delete(c.entries, e.key)
		c.bytes -= sizeOf(e.rows)
	}
}

func sizeOf(rows []float32) int64 { return entryBytes + WordBytes*int64(len(rows)) }

// CacheExports keeps the exported rows of chunks, up to this number of bytes, for the next calls.
// Results have the same bits. No call may be running.
func (r *Runner) CacheExports(limit int64) {
	if r.engine.cutter != nil {
		r.cache = newExportCache(limit)
	}
}

// ChunkCounts returns the numbers of chunks that were computed, and whose exports were in the cache.
func (r *Runner) ChunkCounts() (computed, reused int64) {
	if r.cache == nil {
		return 0, 0
	}
	r.cache.mu.Lock()
	defer r.cache.mu.Unlock()
	return r.cache.computed, r.cache.reused
}

// exportRows returns the exported rows of each chunk. With a cache it computes equal chunks once, and
// none whose rows are in the cache.
func (r *Runner) exportRows(ctx context.Context, chunks []docChunk, d Drawing) ([][]float32, error) {
	if r.cache == nil {
		return r.computeExports(ctx, chunks, d, func(int, []float32) {})
	}
	rows := make([][]float32, len(chunks))
	first := map[chunkKey]int{} // index in missing
	var missing []docChunk
	var missingKeys []chunkKey
	for i, x := range chunks {
		key := *x.key
		if _, ok := first[key]; ok {
			r.cache.countReused()
		} else if rows[i] = r.cache.get(key); rows[i] == nil {
			first[key] = len(missing)
			missing, missingKeys = append(missing, x), append(missingKeys, key)
		}
	}
	// A cancelled call leaves the chunks of complete passes for the next one.
	computed, err := r.computeExports(ctx, missing, d, func(i int, rows []float32) {
		r.cache.add(missingKeys[i], rows)
	})
	if err != nil {
		return nil, err
	}
	for i, x := range chunks {
		if rows[i] == nil {
			rows[i] = computed[first[*x.key]]
		}
	}
	return rows, nil
}

// computeExports computes the exported rows of each chunk, and calls store with them after each pass,
// concurrently.
func (r *Runner) computeExports(ctx context.Context, chunks []docChunk, d Drawing,
	store func(i int, rows []float32)) ([][]float32, error) {
	rows := make([][]float32, len(chunks))
	err := r.forEachPass(ctx, localStage, d.Mode, plannedChunks(chunks),
		func(ctx context.Context, l *Slot, at, n int) error {
			exports, err := l.exports(ctx, chunks[at:at+n], d)
			for i, x := range exports {
				rows[at+i] = x
				store(at+i, x)
			}
			return err
		})
	if err != nil {
		return nil, err
	}
	return rows, nil
}
