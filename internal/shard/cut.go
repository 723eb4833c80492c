package shard

import (
	"math"
	"math/bits"

	"github.com/sftseq/sftseq/internal/table"
)

// Cut returns the parts of the files that belong to a shard, in order. Every row is in exactly one
// shard.
//
// The files are concatenated to T bytes. Shard i of N has the rows that begin at a byte from
// ⌊T·i/N⌋ to ⌊T·(i+1)/N⌋−1. A JSON line begins at its first byte. Row r, from 0, of the R rows of an
// Arrow or Parquet file of S bytes is assumed to begin at byte ⌊r·S/R⌋, as if all rows had the same size.
// All rows of a compressed file are assumed to begin at its first byte.
func (in *Input) Cut(s Shard) (parts []table.Part) {
	var total int64
	for _, f := range in.Files {
		total += f.Bytes
	}
	from, to := scale(total, int64(s.Index), int64(s.Count)), scale(total, int64(s.Index+1), int64(s.Count))
	var start int64
	for _, f := range in.Files {
		p := table.Part{Path: f.Path, Format: f.Format, From: f.cut(from - start), To: f.cut(to - start)}
		if p.From < p.To {
			parts = append(parts, p)
		}
		start += f.Bytes
	}
	return parts
}

// cut converts a byte offset relative to the start of the file to a bound of a part: the first row at or
// after the offset, or for JSON lines the offset, limited to the file. For a compressed file, the bound is 0
// or the end.
func (f *File) cut(at int64) int64 {
	end := f.Bytes
	switch {
	case f.Rows >= 0:
		end = f.Rows
	case f.Compressed:
		end = math.MaxInt64 // end of the decompressed content
	}
	switch {
	case at <= 0:
		return 0
	case at >= f.Bytes, f.Compressed:
		return end
	case f.Rows >= 0: // ⌈at·R/S⌉
		return f.Rows - scale(f.Rows, f.Bytes-at, f.Bytes)
	}
	return at
}

// scale returns ⌊n·a/b⌋ for 0 ≤ a ≤ b.
func scale(n, a, b int64) int64 {
	high, low := bits.Mul64(uint64(n), uint64(a))
	if a == b {
		return n
	}
	q, _ := bits.Div64(high, low, uint64(b))
	return int64(q)
}
