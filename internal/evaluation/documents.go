package evaluation

import (
	"context"
	"crypto/sha256"
	"encoding/binary"

	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
)

// Documents collects the distinct documents of a split of pairs, identified by the tokens that the
// model reads. It measures retrieval: the rank of the documents related to a query among all
// documents. Each document is encoded once.
type Documents struct {
	scorer *sft.Scorer
	embed  Embed
	index  map[fingerprint]int // index of each document in all
	all    []document          // in order of first appearance
}

type document struct {
	fingerprint fingerprint
	row         uint32 // index of the first row that contains the document
	vector      []float32
	related     []int // other documents of the pairs of class 1 that begin with this document
}

// fingerprint is the SHA-256 of a document's tokens.
type fingerprint [sha256.Size]byte

// NewDocuments returns an empty set of documents. embed computes their vectors, like the scorer's
// method Embeddings.
func NewDocuments(s *sft.Scorer, embed Embed) *Documents {
	return &Documents{scorer: s, embed: embed, index: map[fingerprint]int{}}
}

// Embed computes the vector of each sequence.
type Embed func(ctx context.Context, sequences [][]int32) ([][]float32, error)

// Score returns the same logits as Scorer.Examples, bit for bit, and leaves the other outputs unset. It
// stores the vectors and the related documents that Rank needs.
func (d *Documents) Score(ctx context.Context, examples []seq.Example) ([]sft.Output, error) {
	var unknown [][]int32
	known := len(d.all)
	indexOf := func(tokens []int32, row uint32) int {
		f := newFingerprint(tokens)
		n, ok := d.index[f]
		if !ok {
			n = len(d.all)
			d.index[f] = n
			d.all = append(d.all, document{fingerprint: f, row: row})
			unknown = append(unknown, tokens)
		}
		return n
	}
	pairs := make([][2]int, len(examples))
	for i, e := range examples {
		pairs[i] = [2]int{indexOf(e.A, e.Index), indexOf(e.B, e.Index)}
	}
	vectors, err := d.embed(ctx, unknown)
	if err != nil {
		return nil, err
	}
	for i, v := range vectors {
		d.all[known+i].vector = v
	}
	var a, b [][]float32
	for i, p := range pairs {
		first, second := &d.all[p[0]], &d.all[p[1]]
		a, b = append(a, first.vector), append(b, second.vector)
		if examples[i].Label == 1 && p[0] != p[1] {
			first.related = append(first.related, p[1])
		}
	}
	logits, err := d.scorer.Compare(ctx, a, b)
	if err != nil {
		return nil, err
	}
	out := make([]sft.Output, len(examples))
	n := d.scorer.Config().NumLabels
	for i := range out {
		out[i].Logits = logits[i*n : (i+1)*n]
	}
	return out, nil
}

func newFingerprint(tokens []int32) fingerprint {
	bytes := make([]byte, 0, 4*len(tokens))
	for _, t := range tokens {
		bytes = binary.LittleEndian.AppendUint32(bytes, uint32(t))
	}
	return sha256.Sum256(bytes)
}
