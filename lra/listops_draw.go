package lra

import (
	"crypto/sha256"

	"github.com/sftseq/sftseq/tokenizers"
)

// listOpsDraw draws expressions. Draw n is a function of only seed, n and rule.
type listOpsDraw struct {
	random
	rule    ListOpsRule
	tokens  []int32
	machine listOpsMachine
}

// listOpsRow is an expression that the rule keeps.
type listOpsRow struct {
	tokens []int32
	label  int32
	key    [16]byte // hash of the tokens; rows with the same key are duplicates
}

// draw returns draw number n. It returns false if the rule discards the expression.
func (d *listOpsDraw) draw(n uint64) (row listOpsRow, ok bool) {
	d.begin(n)
	d.tokens = d.tokens[:0]
	if !d.appendTree(1) || len(d.tokens) <= d.rule.MinLength {
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

// appendTree appends a tree whose root has the given depth. It returns false as soon as the
// expression is too long for the rule, which saves drawing the rest.
func (d *listOpsDraw) appendTree(depth int) bool {
	if depth >= d.rule.MaxDepth || d.uniform() > operatorProbability {
		return d.appendToken(tokenizers.ListOpsDigit + d.below(10))
	}
	op := d.below(4)
	args := 2 + d.below(d.rule.MaxArgs-1)
	if !d.appendToken(tokenizers.ListOpsMin + op) {
		return false
	}
	for range args {
		if !d.appendTree(depth + 1) {
			return false
		}
	}
	return d.appendToken(tokenizers.ListOpsClose)
}

// appendToken appends a token. It returns false if the expression is then too long for the rule.
func (d *listOpsDraw) appendToken(token int32) bool {
	d.tokens = append(d.tokens, token)
	return len(d.tokens) < d.rule.MaxLength
}
