package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/sftseq/sftseq/internal/metrics"
	"github.com/sftseq/sftseq/sft"
)

// mostClasses is how many classes a confusion matrix shows; of more the most frequent
// mistakes are listed.
const mostClasses = 24

// classes are a confusion matrix, or what stands for it.
type classes struct {
	Names    []string
	Rows     []classRow // nil where there are too many
	Mistakes []mistake
}

type classRow struct {
	Name  string
	Cells []classCell
}

type classCell struct {
	Count int64
	Part  string // of the class's rows, from 0 to 1: how dark the cell is
	Dark  bool   // its text is white
	Title string
}

type mistake struct {
	Label, Answer string
	Count         int64
}

func newClasses(c *sft.Config, r *metrics.Report) *classes {
	out := &classes{}
	name := func(i int) string { return fmt.Sprint(c.Label(i)) }
	for i := range r.Confusion {
		out.Names = append(out.Names, name(i))
	}
	for label, counts := range r.Confusion {
		var rows int64
		for _, n := range counts {
			rows += n
		}
		row := classRow{Name: name(label)}
		for answer, n := range counts {
			part := float64(n) / float64(max(1, rows))
			row.Cells = append(row.Cells, classCell{Count: n, Part: fmt.Sprintf("%.3f", part), Dark: part > 0.55,
				Title: fmt.Sprintf("%d of %d rows of %s answered %s (%.1f%%)", n, rows, name(label), name(answer), 100*part)})
			if n > 0 && answer != label {
				out.Mistakes = append(out.Mistakes, mistake{name(label), name(answer), n})
			}
		}
		out.Rows = append(out.Rows, row)
	}
	if len(out.Names) <= mostClasses {
		out.Mistakes = nil
		return out
	}
	slices.SortStableFunc(out.Mistakes, func(a, b mistake) int { return cmp.Compare(b.Count, a.Count) })
	out.Rows, out.Mistakes = nil, out.Mistakes[:min(len(out.Mistakes), mostClasses)]
	return out
}
