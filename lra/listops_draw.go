package lra

import (
	"crypto/sha256"

	"github.com/sftseq/sftseq/tokenizers"
)

// A listOpsDraw draws expressions: draw n is a function of (seed, n, rule)
// alone.
type listOpsDraw struct {
	random
	rule    ListOpsRule
	tokens  []int32
	machine listOpsMachine
}

// A listOpsRow is a draw that the rule keeps.
type listOpsRow struct {
	tokens []int32
	label  int32
	key    [16]byte // of the tokens; two rows with the same key are the same
}

// draw makes draw number n; ok is false where the rule drops it.
func (d *listOpsDraw) draw(n uint64) (row listOpsRow, ok bool) {
	d.begin(n)
	d.tokens = d.tokens[:0]
	if !d.tree(1) || len(d.tokens) <= d.rule.MinLength {
		return row, false
	}
	label, err := d.machine.evaluate(d.tokens)
	if err != nil {
		panic("lra: a drawn expression does not evaluate: " + err.Error())
	}
	bytes := make([]byte, len(d.tokens))
	row.tokens, row.label = make([]int32, len(d.tokens)), label
	for i, id := range d.tokens {
		row.tokens[i], bytes[i] = id, byte(id)
	}
	sum := sha256.Sum256(bytes)
	copy(row.key[:], sum[:])
	return row, true
}

// tree appends a tree of the given depth and reports whether the whole can
// still be short enough. Giving up early changes nothing but the time taken:
// tokens only ever get more.
func (d *listOpsDraw) tree(depth int) bool {
	if depth >= d.rule.MaxDepth || d.uniform() > operatorProbability {
		return d.add(tokenizers.ListOpsDigit + d.below(10))
	}
	op := d.below(4)
	args := 2 + d.below(d.rule.MaxArgs-1)
	if !d.add(tokenizers.ListOpsMin + op) {
		return false
	}
	for range args {
		if !d.tree(depth + 1) {
			return false
		}
	}
	return d.add(tokenizers.ListOpsClose)
}

func (d *listOpsDraw) add(token int32) bool {
	d.tokens = append(d.tokens, token)
	return len(d.tokens) < d.rule.MaxLength
}
