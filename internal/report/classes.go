package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/sftseq/sftseq/internal/metrics"
	"github.com/sftseq/sftseq/sft"
)

// maxClasses is the maximum number of classes of a confusion matrix. With more classes, the page lists
// the maxClasses most frequent mistakes. maxClasses also limits the tables of classes, labels, tags, part
// categories and types of spans.
const maxClasses = 24

// fewClasses is the maximum number of classes whose matrix fits beside the reliability diagram.
const fewClasses = 6

// classes is a confusion matrix, or the most frequent mistakes if there are too many classes.
type classes struct {
	Names    []string
	Rows     []classRow // nil if there are too many classes
	Mistakes []mistake
}

type classRow struct {
	Name  string
	Cells []classCell
}

type classCell struct {
	Count int64
	Part  string // fraction of the class's rows, 0 to 1: darkness of the cell
	Dark  bool   // white text on a dark cell
	Title string
}

type mistake struct {
	Label, Predicted string
	Count            int64
}

// Many reports whether the confusion matrix takes the full width of the page.
func (c *classes) Many() bool { return len(c.Names) > fewClasses }

func newClasses(c *sft.Config, r *metrics.Report) *classes {
	out := &classes{}
	name := func(i int) string { return fmt.Sprint(c.Label(i)) }
	for i := range r.Classes {
		out.Names = append(out.Names, name(i))
	}
	if len(out.Names) > maxClasses {
		mistakes := r.Mistakes()
		slices.SortStableFunc(mistakes, func(a, b metrics.Confused) int { return cmp.Compare(b.Rows, a.Rows) })
		for _, m := range mistakes[:min(len(mistakes), maxClasses)] {
			out.Mistakes = append(out.Mistakes, mistake{name(m.Label), name(m.Predicted), m.Rows})
		}
		return out
	}
	for label, counts := range r.Confusion {
		rows := r.Classes[label].Rows
		row := classRow{Name: name(label)}
		for predicted, n := range counts {
			part := float64(n) / float64(max(1, rows))
			row.Cells = append(row.Cells, classCell{Count: n, Part: fmt.Sprintf("%.3f", part), Dark: part > 0.55,
				Title: fmt.Sprintf("%d of %d rows of %s predicted as %s (%.1f%%)", n, rows, name(label),
					name(predicted), 100*part)})
		}
		out.Rows = append(out.Rows, row)
	}
	return out
}
