package conformance

import (
	"fmt"
	"math"

	"github.com/sftseq/sftseq/internal/tensor"
)

// bag64 is a batch of tokens, each with some rows of a table.
type bag64 struct {
	row    [][]int // [T][groups] row of the table, or [tensor.NoRow]
	scale  []float64
	offset []int // start of each table row's tokens in token, and the length of token
	token  []int
}

// bag draws the table rows of tokens. Most tokens have rows, every fifth token has none, and many
// tokens have the first row of the table.
func (r *fixture) bag(tokens, table, groups int) *bag64 {
	b := &bag64{offset: []int{0}}
	tokensOf := make([][]int, table)
	for t := range tokens {
		row, found := make([]int, groups), 0
		for g := range row {
			switch row[g] = tensor.NoRow; {
			case t%5 == 4:
			case r.random.IntN(8) == 0:
				row[g] = 0
			case r.random.IntN(4) > 0:
				row[g] = r.random.IntN(table)
			}
			if row[g] != tensor.NoRow {
				tokensOf[row[g]] = append(tokensOf[row[g]], t)
				found++
			}
		}
		b.row = append(b.row, row)
		b.scale = append(b.scale, float64(float32(1/math.Sqrt(float64(1+found)))))
	}
	for _, tokens := range tokensOf {
		b.token = append(b.token, tokens...)
		b.offset = append(b.offset, len(b.token))
	}
	return b
}

func (b *bag64) forward(x, table []float64, d int) []float64 {
	y := zeros(len(b.row) * d)
	for t, rows := range b.row {
		for c := range d {
			v := x[t*d+c]
			for _, u := range rows {
				if u != tensor.NoRow {
					v += table[u*d+c]
				}
			}
			y[t*d+c] = b.scale[t] * v
		}
	}
	return y
}

func (b *bag64) backward(dy []float64, rows, d int) (dx, dtable []float64) {
	dx, dtable = zeros(len(dy)), zeros(rows*d)
	for t, rows := range b.row {
		for c := range d {
			dx[t*d+c] = b.scale[t] * dy[t*d+c]
			for _, u := range rows {
				if u != tensor.NoRow {
					dtable[u*d+c] += dx[t*d+c]
				}
			}
		}
	}
	return dx, dtable
}

func init() { register("embedbag", embedBagCases) }

func embedBagCases(add func(...Case)) {
	for _, s := range []struct{ rows, table, groups, d int }{
		{1, 1, 1, 2}, {2, 9, 3, 3}, {33, 4, 2, 5}, {100, 170, 5, 48}, {300, 20, 6, 33}, {90, 300, 1, 64},
	} {
		name := fmt.Sprintf("%d rows of %d, %d indices per row into a table of %d", s.rows, s.d, s.groups, s.table)
		add(Case{"embedbag " + name, rows(s.rows), func(r *fixture) tensor.Kernel {
			b := r.bag(s.rows, s.table, s.groups)
			x, table := r.in(tensor.Tokens, s.d), r.fixed(s.table, s.d)
			y := r.want(r.out(tensor.Tokens, s.d), b.forward(x.x, table.x, s.d), 1e-6)
			row := r.in(tensor.Tokens, s.groups)
			row.ints = true
			for t, rows := range b.row {
				for g, u := range rows {
					row.row(t)[g] = float64(u)
				}
			}
			scale := r.in(tensor.Tokens, 1)
			copy(scale.x, b.scale)
			return tensor.EmbedBag{Y: y.Tensor, X: x.Tensor, Table: table.Tensor, Row: row.Tensor,
				Scale: scale.Tensor}
		}}, Case{"embedbag_backward " + name, rows(s.rows), func(r *fixture) tensor.Kernel {
			b := r.bag(s.rows, s.table, s.groups)
			dy, x, table := r.in(tensor.Tokens, s.d), r.in(tensor.Tokens, s.d), r.fixed(s.table, s.d)
			dx, dtable := b.backward(dy.x, s.table, s.d)
			r.derivative(func() float64 { return product(dy.x, b.forward(x.x, table.x, s.d)) },
				pair{x.x, dx}, pair{table.x, dtable})
			scale := r.in(tensor.Tokens, 1)
			copy(scale.x, b.scale)
			offset := integers(r, r.program.Input("offset", tensor.Fixed, s.table+1), b.offset)
			token := integers(r, r.program.Input("token", tensor.Fixed, len(b.token)+unusedRows), b.token)
			return tensor.EmbedBagBackward{
				DX:     r.want(r.out(tensor.Tokens, s.d), dx, 2e-7).Tensor,
				DTable: r.want(r.outFixed(s.table, s.d), dtable, 2e-6).Tensor,
				DY:     dy.Tensor, Scale: scale.Tensor, Offset: offset.Tensor, Token: token.Tensor}
		}})
	}
}
