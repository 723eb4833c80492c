package model

import (
	"container/list"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"sync"

	"github.com/sftseq/sftseq/internal/recent"
)

// exported holds the exported rows of a chunk, row-major.
type exported struct {
	rows   []float32
	source *chunkSource // tokens of the rows, in ExplainMode
}

// concatRows returns the exported rows of consecutive chunks.
func concatRows(chunks []exported) []float32 {
	n := 0
	for _, x := range chunks {
		n += len(x.rows)
	}
	out := make([]float32, 0, n)
	for _, x := range chunks {
		out = append(out, x.rows...)
	}
	return out
}

// exportCache keeps the exported rows of chunks by the hash of their tokens, and evicts the least
// recently used chunks. The hash is cryptographic, because different clients of a server share the
// cache. The cache is safe for concurrent use.
type exportCache struct {
	versions *recent.List[[]keyedChunk]

	mu       sync.Mutex
	limit    int64 // maximum bytes of the entries
	bytes    int64
	entries  map[chunkKey]*list.Element // values are *cachedExports
	order    list.List                  // most recently used first
	computed int64
	reused   int64
}

// chunkKey is the SHA-256 of a chunk's tokens.
type chunkKey [sha256.Size]byte

// keyOf returns the key of a chunk. Its tokens are below vocab, the size of the vocabulary.
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
	key chunkKey
	exported
}

// entryBytes is the memory of an entry without its rows: key, list element and a slot of the map.
const entryBytes = 200

// newExportCache returns a cache that takes up to limit bytes, half of them for the tokens of recent
// documents.
func newExportCache(limit int64) *exportCache {
	return &exportCache{versions: recent.NewList[[]keyedChunk](limit / 2), limit: limit - limit/2,
		entries: map[chunkKey]*list.Element{}}
}

// get returns the exported rows of a chunk. If source is true, rows without a source are a miss.
func (c *exportCache) get(key chunkKey, source bool) (x exported, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.entries[key]
	if !ok {
		return x, false
	}
	c.order.MoveToFront(e)
	if x = e.Value.(*cachedExports).exported; source && x.source == nil {
		return x, false
	}
	c.reused++
	return x, true
}

// countReused counts a repeated chunk of a call as reused.
func (c *exportCache) countReused() {
	c.mu.Lock()
	c.reused++
	c.mu.Unlock()
}

// add adds the computed rows of a chunk.
func (c *exportCache) add(key chunkKey, x exported) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.computed++
	if e, ok := c.entries[key]; ok {
		if x.source == nil || e.Value.(*cachedExports).source != nil {
			return // a concurrent call has computed it, too
		}
		c.remove(e)
	}
	if x.bytes() > c.limit {
		return
	}
	c.entries[key] = c.order.PushFront(&cachedExports{key, x})
	c.bytes += x.bytes()
	for c.bytes > c.limit {
		c.remove(c.order.Back())
	}
}

// remove removes an entry. The caller holds c.mu.
func (c *exportCache) remove(e *list.Element) {
	x := c.order.Remove(e).(*cachedExports)
	delete(c.entries, x.key)
	c.bytes -= x.bytes()
}

// bytes returns the memory of an entry.
func (x *exported) bytes() int64 {
	n := entryBytes + WordBytes*int64(len(x.rows))
	if x.source != nil {
		n += sourceBytes*int64(len(x.source.duplets)) + WordBytes*int64(len(x.source.pooled))
	}
	return n
}

// sourceBytes is the memory of the tokens of a mixed row: two tokens and a slice.
const sourceBytes = 2*24 + 24

// CacheExports keeps the exported rows of chunks and the tokens of recent documents, up to limit bytes,
// for the next calls. The cache does not change any bit of the results. CacheExports does nothing for a
// model without chunks. No call may be running.
func (r *Runner) CacheExports(limit int64) {
	if r.engine.cutter != nil {
		r.cache = newExportCache(limit)
	}
}

// ChunkCounts returns the number of computed chunks and the number of chunks whose rows were reused. Without
// a cache it does not count them and returns 0.
func (r *Runner) ChunkCounts() (computed, reused int64) {
	if r.cache == nil {
		return 0, 0
	}
	r.cache.mu.Lock()
	defer r.cache.mu.Unlock()
	return r.cache.computed, r.cache.reused
}

// exportChunks returns the exported rows of each chunk, in ExplainMode with their sources. If the runner
// has a cache and the chunks have keys, it computes equal chunks once and cached chunks not at all.
func (r *Runner) exportChunks(ctx context.Context, chunks []docChunk, d Drawing) ([]exported, error) {
	if r.cache == nil || len(chunks) > 0 && chunks[0].key == nil {
		return r.computeExports(ctx, chunks, d, func(int, exported) {})
	}
	out := make([]exported, len(chunks))
	first := map[chunkKey]int{} // indices into missing
	var missing []docChunk
	for i, x := range chunks {
		if _, ok := first[*x.key]; ok {
			r.cache.countReused()
			continue
		}
		var ok bool
		if out[i], ok = r.cache.get(*x.key, d.Mode == ExplainMode); !ok {
			out[i] = exported{}
			first[*x.key] = len(missing)
			missing = append(missing, x)
		}
	}
	// Even if the call is cancelled, the cache keeps the chunks of complete passes.
	computed, err := r.computeExports(ctx, missing, d, func(i int, x exported) { r.cache.add(*missing[i].key, x) })
	if err != nil {
		return nil, err
	}
	for i, x := range chunks {
		if out[i].rows == nil {
			out[i] = computed[first[*x.key]]
		}
	}
	return out, nil
}

// computeExports computes the exported rows of each chunk. After each pass it calls store for the pass's
// chunks, concurrently with other passes.
func (r *Runner) computeExports(ctx context.Context, chunks []docChunk, d Drawing,
	store func(i int, x exported)) ([]exported, error) {
	out := make([]exported, len(chunks))
	err := r.forEachPass(ctx, localStage, d.Mode, plannedChunks(chunks),
		func(ctx context.Context, l *Slot, at, n int) error {
			all, err := l.exports(ctx, chunks[at:at+n], d)
			for i, x := range all {
				out[at+i] = x
				store(at+i, x)
			}
			return err
		})
	if err != nil {
		return nil, err
	}
	return out, nil
}
