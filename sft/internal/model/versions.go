package model

import (
	"context"
	"slices"

	"github.com/sftseq/sftseq/internal/chunk"
	"github.com/sftseq/sftseq/internal/recent"
	"github.com/sftseq/sftseq/seq"
)

// keyedChunk is the length of a chunk and the key of its exports.
type keyedChunk struct {
	length int
	key    *chunkKey // nil until it is computed
}

// version is a document that was cut recently. An edited document keeps the chunks of its last version
// outside the edit, so that only tokens near the edit are cut and hashed again.
type version = recent.Sequence[[]keyedChunk]

// keyedChunkBytes is the memory of a chunk's length, pointer and key.
const keyedChunkBytes = 16 + 48

// cutKeyed cuts the sequences of examples, like [Engine.cut], into chunks with their keys.
func (r *Runner) cutKeyed(ctx context.Context, examples []seq.Example, sequences int) [][]docChunk {
	out := make([][]docChunk, len(examples)*sequences)
	versions := make([]*version, len(out))
	var missing []*docChunk
	for i := range out {
		x := examples[i/sequences]
		tokens := x.A
		if i%sequences == 1 {
			tokens = x.B
		}
		var chunks []keyedChunk
		cutter := *r.engine.cutter
		if len(tokens) < recent.MinTokens {
			chunks = appendCut(nil, &cutter, tokens)
		} else {
			v, prefix, suffix := r.cache.versions.Take(tokens)
			if v == nil {
				v = new(version)
			}
			recut(v, &cutter, tokens, prefix, suffix)
			versions[i], chunks = v, v.Value
		}
		out[i] = make([]docChunk, len(chunks))
		for n, x := range chunks {
			out[i][n] = docChunk{tokens: tokens[:x.length], tower: uint32(i % sequences), key: x.key}
			if x.key == nil {
				missing = append(missing, &out[i][n])
			}
			tokens = tokens[x.length:]
		}
	}
	InParallel(r.threads(ctx, 1), len(missing), func(_, i int) {
		key := keyOf(missing[i].tokens, r.engine.Config.VocabSize)
		missing[i].key = &key
	})
	for i, v := range versions {
		if v == nil {
			continue
		}
		for n := range v.Value {
			v.Value[n].key = out[i][n].key
		}
		r.cache.versions.Put(v, keyedChunkBytes*int64(cap(v.Value)))
	}
	return out
}

// appendCut appends the chunks of the tokens to a list.
func appendCut(to []keyedChunk, cutter *chunk.Cutter, tokens []int32) []keyedChunk {
	for _, n := range cutter.Lengths(tokens) {
		to = append(to, keyedChunk{length: n})
	}
	return to
}

// recut replaces the tokens of a version, and cuts them again. The parameters prefix and suffix are the
// numbers of tokens that the old and the new tokens share at the beginning and at the end. recut keeps
// the chunks within the prefix, except the document's last chunk, which may have ended without a cut. It
// also keeps the chunks within the suffix from the first cut that both documents share.
func recut(v *version, cutter *chunk.Cutter, tokens []int32, prefix, suffix int) {
	old, oldTokens := v.Value, len(v.Tokens)
	kept, at := 0, 0
	for kept < len(old)-1 && at+old[kept].length <= prefix {
		at += old[kept].length
		kept++
	}
	chunks := slices.Clone(old[:kept])
	next, nextAt := kept, at+len(tokens)-oldTokens // the next old chunk and its position in tokens
	cutter.Reset()
	for at < len(tokens) {
		for next < len(old) && nextAt < at {
			nextAt += old[next].length
			next++
		}
		if next < len(old) && nextAt == at && at >= len(tokens)-suffix {
			chunks = append(chunks, old[next:]...)
			break
		}
		n, _ := cutter.Next(tokens[at:])
		chunks = append(chunks, keyedChunk{length: n})
		at += n
	}
	v.Tokens = slices.Replace(v.Tokens, prefix, oldTokens-suffix, tokens[prefix:len(tokens)-suffix]...)
	v.Value = chunks
}

// ComputedTokens estimates the number of tokens that a chunked model computes for an example. With a
// cache it leaves out the chunks that the example shares with the nearest recent document, if their
// exports are in the cache (for an explanation, also their sources), and adds the exported rows. A
// model that predicts tokens computes all tokens.
func (r *Runner) ComputedTokens(e *seq.Example, explained bool) (tokens int) {
	c := r.engine.Config
	if r.cache == nil || hasContexts(c) {
		return e.Length()
	}
	for _, x := range [][]int32{e.A, e.B} {
		n := len(x)
		if n >= recent.MinTokens {
			r.cache.versions.Peek(x, func(v *version, prefix, suffix int) {
				if c.Chunks.Rule == string(chunk.Fixed) && (n-len(v.Tokens))%c.Chunks.Average != 0 {
					suffix = 0 // all later cuts move
				}
				rows := (n/c.Chunks.Average + 1) * (c.Chunks.Exports + 1)
				n = min(n, n-r.cache.heldTokens(v, prefix, suffix, explained)+rows)
			})
		}
		tokens += n
	}
	return tokens
}

// heldTokens returns the number of tokens in those chunks of a version that an edit keeps and whose
// exports are in the cache. The parameters prefix and suffix are the numbers of tokens that the edit keeps
// at the beginning and at the end. If source is true, the cache must also hold the sources of the exports.
func (c *exportCache) heldTokens(v *version, prefix, suffix int, source bool) (tokens int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	start := 0
	for _, x := range v.Value {
		end := start + x.length
		if end <= prefix || start >= len(v.Tokens)-suffix {
			if e, ok := c.entries[*x.key]; ok && !(source && e.Value.(*cachedExports).source == nil) {
				tokens += x.length
			}
		}
		start = end
	}
	return tokens
}
