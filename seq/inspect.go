package seq

import (
	"github.com/apache/arrow/go/v15/arrow"
)

// Info is the result of Inspect.
type Info struct {
	Spec    *Spec
	Schema  *arrow.Schema
	IsFile  bool // true for the file format, false for the stream format
	Batches int
	Rows    int64
	Lengths Quantiles
	Labels  map[string]int64
	PerRow  []int64         // entry n is the number of rows with n labels; for the task multi-label
	Numbers []NumberSummary // summaries of the numbers, for the task regression
	First   *Example        // row 0, nil if the file has no rows
}

// Inspect reads the source of r to its end, one record batch at a time, and returns statistics of its
// rows.
func Inspect(r *Reader) (*Info, error) {
	info := &Info{Spec: r.Spec(), Schema: r.Schema(), IsFile: r.IsFile()}
	summary := NewSummary(info.Spec)
	for rows, err := range r.All() {
		if err != nil {
			return nil, err
		}
		if info.First == nil && rows.Len() > 0 {
			first := rows.Example(0)
			info.First = &first
		}
		for i := range rows.Len() {
			summary.AddRow(rows, i)
		}
		info.Batches++
	}
	info.Rows = summary.Rows()
	info.Lengths = summary.Lengths()
	info.Labels = summary.Labels(info.Spec.LabelNames)
	info.PerRow = summary.LabelsPerRow()
	info.Numbers = summary.Numbers()
	return info, nil
}
