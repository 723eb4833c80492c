package table

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"github.com/sftseq/sftseq/internal/jsonlines"
	"github.com/sftseq/sftseq/internal/source"
)

// A series has a number for each time step and channel. A row has a series in a column of lists, in
// several columns of lists (one per channel), or in one column per step.

// SeriesName returns the name of a series in [Options].Columns: its columns, separated by commas.
func SeriesName(columns []string) string { return strings.Join(columns, ",") }

// StepsName is the channel name of a series with one column per step.
const StepsName = "value"

// seriesReader combines the columns of a series into features.
type seriesReader struct {
	Reader
	columns       []string // columns of the series
	seriesIndices []int    // indices of the wanted columns that are the series
	limit         int      // maximum bytes of a series
	row           Row
}

// openSeries opens a table with columns of a series.
func openSeries(ctx context.Context, path string, o Options) (Reader, error) {
	r := &seriesReader{limit: o.MaxField}
	inner := o
	inner.Series, inner.Columns = nil, nil
	var err error
	if r.columns, err = matchColumns(ctx, path, o); err != nil {
		return nil, err
	}
	name := SeriesName(o.Series)
	inner.Columns = append(inner.Columns, r.columns...)
	for i, column := range o.Columns {
		if column == name {
			r.seriesIndices = append(r.seriesIndices, i)
		} else {
			inner.Columns = append(inner.Columns, column)
		}
	}
	inner.series = r.columns
	r.Reader, err = Open(ctx, path, inner)
	return r, err
}

// matchColumns returns the columns of a series in the order of o.Series. A name with * stands for all
// matching columns except o.NotSeries, in the order of the file.
func matchColumns(ctx context.Context, file string, o Options) (columns []string, err error) {
	var existing []string
	for _, name := range o.Series {
		if !strings.Contains(name, "*") {
			columns = append(columns, name)
			continue
		}
		if existing == nil {
			if ReadOnce(file) {
				return nil, fmt.Errorf("columns %q: standard input and pipes can be read only once: "+
					"list all columns instead of a pattern with *", name)
			}
			plain := o
			plain.Series, plain.Columns, plain.Progress = nil, nil, nil
			t, err := Open(ctx, file, plain)
			if err != nil {
				return nil, err
			}
			existing = slices.Clone(t.Columns())
			if err := t.Close(); err != nil {
				return nil, err
			}
		}
		var found, excluded []string
		for _, column := range existing {
			switch ok, _ := path.Match(name, column); {
			case ok && slices.Contains(o.NotSeries, column):
				excluded = append(excluded, column)
			case ok:
				found = append(found, column)
			}
		}
		if found == nil {
			return nil, fmt.Errorf("%s: columns %q: no column matches, expected some of %s", file, name,
				jsonlines.QuoteNames(existing))
		}
		columns = append(columns, found...)
		if o.Note != nil {
			o.Note(describeMatch(file, name, found, excluded))
		}
	}
	for i, column := range columns {
		if column == "" || slices.Contains(columns[:i], column) {
			return nil, fmt.Errorf("series: expected distinct column names, found %.500q", columns)
		}
	}
	return columns, nil
}

// describeMatch returns a note on the columns that match a name with *, and on matching
// columns that are excluded.
func describeMatch(file, name string, found, excluded []string) string {
	text := fmt.Sprintf("%s: the series %s has %d columns, %s", file, name, len(found), found[0])
	if len(found) > 1 {
		text += " to " + found[len(found)-1]
	}
	if excluded != nil {
		text += fmt.Sprintf(", without %s, which other flags use", strings.Join(excluded, ", "))
	}
	return text + describeOrder(name, found)
}

// describeOrder returns a note if * matches a number in each column and the numbers do not increase by
// one from column to column; otherwise "".
func describeOrder(name string, columns []string) string {
	prefix, suffix, _ := strings.Cut(name, "*")
	missing, last := "", 0
	for i, column := range columns {
		n, err := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(column, prefix), suffix))
		switch {
		case err != nil:
			return "" // the columns are not numbered
		case i > 0 && n <= last:
			return fmt.Sprintf("; the steps are in the order of the file, in which %s follows %s", column, columns[i-1])
		case i > 0 && n > last+1 && missing == "":
			missing = fmt.Sprintf("; columns are missing between %s and %s", columns[i-1], column)
		}
		last = n
	}
	return missing
}

// Next reads the next row into row. It returns io.EOF after the last row.
func (r *seriesReader) Next(row *Row) error {
	r.row.Values = r.row.Values[:0]
	if err := r.Reader.Next(&r.row); err != nil {
		return err
	}
	values := row.Values[:0]
	*row = r.row
	row.Values = values
	if len(r.row.Values) < len(r.columns) { // the row has an error
		return nil
	}
	var series Value
	if row.Err == nil {
		features, err := r.features(r.row.Values[:len(r.columns)])
		if series.Features = features; features == nil {
			series.Null = true
		}
		if err != nil {
			row.setNull(&series, err)
		}
	} else {
		series.Null = true
	}
	for _, v := range r.row.Values[len(r.columns):] {
		for slices.Contains(r.seriesIndices, len(row.Values)) {
			row.Values = append(row.Values, series)
		}
		if v.Features != nil { // the column is requested both in the series and by itself
			text, err := json.Marshal(v.Features[0])
			if v = (Value{Text: string(text), JSON: true}); err != nil {
				row.setNull(&v, err)
			}
		}
		row.Values = append(row.Values, v)
	}
	for slices.Contains(r.seriesIndices, len(row.Values)) {
		row.Values = append(row.Values, series)
	}
	return nil
}

// features returns the numbers of each step, one per channel, or nil if the row has no series.
func (r *seriesReader) features(values []Value) ([][]float32, error) {
	var channels [][]float32
	var steps []float32
	missing := "" // first column without a value
	for i, v := range values {
		numbers, list, err := numbersOf(v, r.limit)
		switch {
		case err != nil:
			return nil, &ColumnError{r.columns[i], list, fmt.Errorf("column %s: %w", r.columns[i], err)}
		case numbers == nil:
			if missing == "" {
				missing = r.columns[i]
			}
			continue
		case missing != "": // only the last steps may be missing
			return nil, fmt.Errorf("column %s: expected a value, because column %s has one, found nothing", missing,
				r.columns[i])
		case list:
			channels = append(channels, numbers)
		default:
			steps = append(steps, numbers...)
		}
		switch {
		case !list && len(values) == 1:
			return nil, fmt.Errorf("column %s: expected a list of numbers, found a number: "+
				"if each step has its own column, list all columns (or a pattern such as 't*')", r.columns[i])
		case channels != nil && steps != nil:
			return nil, fmt.Errorf("column %s: expected either lists or single numbers in all columns of the series, "+
				"found both", r.columns[i])
		case list && len(numbers) != len(channels[0]):
			return nil, fmt.Errorf("column %s: expected %d numbers, as in column %s, found %d", r.columns[i],
				len(channels[0]), r.columns[0], len(numbers))
		}
	}
	if channels == nil && steps == nil {
		return nil, nil
	}
	if channels != nil && missing != "" {
		return nil, fmt.Errorf("column %s: expected a list of numbers, found nothing", missing)
	}
	if channels == nil {
		channels = [][]float32{steps}
	}
	length, width := len(channels[0]), len(channels)
	if length*(tokenBytes+4*width) > r.limit {
		return nil, fmt.Errorf("the series of %d steps exceeds the limit of %d bytes", length, r.limit)
	}
	out, all := make([][]float32, length), make([]float32, length*width)
	for t := range out {
		out[t] = all[t*width:][:width:width]
		for c := range channels {
			out[t][c] = channels[c][t]
		}
	}
	return out, nil
}

// numbersOf returns the numbers of a value, and whether the value is a list. More than limit bytes
// are an error. numbers is nil if the value is missing: empty, nan, na or null in any case.
func numbersOf(v Value, limit int) (numbers []float32, list bool, err error) {
	if v.Features != nil {
		return v.Features[0], true, nil
	}
	text := strings.TrimSpace(v.Text)
	switch strings.ToLower(text) {
	case "", "nan", "na", "null":
		return nil, false, nil
	}
	inner, list := text, false
	if strings.HasPrefix(text, "[") && strings.HasSuffix(text, "]") {
		inner, list = text[1:len(text)-1], true
	}
	numbers = []float32{}
	for word := range strings.FieldsFuncSeq(inner, source.NumberSeparator(inner)) {
		i := len(numbers)
		if (i+1)*(tokenBytes+4) > limit {
			return nil, true, fmt.Errorf("the series of at least %d numbers exceeds the limit of %d bytes", i+1, limit)
		}
		x, err := strconv.ParseFloat(word, 32)
		if strings.ContainsAny(word, "_xX") || errors.Is(err, strconv.ErrSyntax) {
			hint := ""
			if strings.Contains(word, ",") {
				hint = " with a decimal point, and one kind of separator between numbers"
			}
			return nil, true, fmt.Errorf("number %d: expected a number%s, found %q", i, hint,
				jsonlines.Shorten(word, 40))
		}
		if y := float32(x); y-y != 0 {
			return nil, true, fmt.Errorf("number %d: expected a finite float32, found %q", i,
				jsonlines.Shorten(word, 40))
		}
		numbers = append(numbers, float32(x))
	}
	return numbers, list || len(numbers) != 1, nil
}

// SeriesNames returns the names of a series' channels. A single column without * is the only channel.
// Several columns are channels if the first row with a series has lists in them; otherwise, the only
// channel is [StepsName]. For input that can be read only once, several columns are steps.
func SeriesNames(ctx context.Context, path string, o Options) ([]string, error) {
	if len(o.Series) == 1 && !strings.Contains(o.Series[0], "*") {
		return o.Series, nil
	}
	if ReadOnce(path) {
		return []string{StepsName}, nil
	}
	o.Columns, o.Progress = []string{SeriesName(o.Series)}, nil
	t, err := Open(ctx, path, o)
	if err != nil {
		return nil, err
	}
	defer t.Close()
	var row Row
	for {
		switch err := t.Next(&row); {
		case err == io.EOF:
			return []string{StepsName}, nil // reading the rows will report the missing values
		case err != nil:
			return nil, err
		case row.Err != nil || len(row.Values) == 0 || len(row.Values[0].Features) == 0:
		case len(row.Values[0].Features[0]) > 1:
			return t.(*seriesReader).columns, nil
		default:
			return []string{StepsName}, nil
		}
	}
}

// parseSeries parses a JSON list of numbers.
func parseSeries(list []byte) (v Value, err error) {
	numbers, err := jsonlines.Numbers(list)
	if numbers == nil {
		numbers = []float32{}
	}
	return Value{Features: [][]float32{numbers}}, err
}

// isNumberList reports whether t is a list of integers or of 32-bit or 64-bit floats.
func isNumberList(t arrow.DataType) bool {
	list, ok := t.(arrow.ListLikeType)
	return ok && (arrow.IsInteger(list.Elem().ID()) || list.Elem().ID() == arrow.FLOAT32 ||
		list.Elem().ID() == arrow.FLOAT64)
}

// seriesAt returns row i of a column of numbers or of lists of numbers. More than limit bytes are
// an error.
func seriesAt(a arrow.Array, i, limit int) (v Value, err error) {
	list, ok := a.(array.ListLike)
	if !ok {
		return valueAt(a, i)
	}
	if a.IsNull(i) {
		return Value{Null: true}, nil
	}
	from, to, err := listBounds(list, i)
	if err == nil && 4*(to-from) > limit {
		err = errors.New("the list exceeds the size limit of a row")
	}
	if err != nil {
		return v, err
	}
	numbers, err := numbersAt(list, i)
	if err != nil {
		return v, err
	}
	return Value{Features: [][]float32{numbers}}, nil
}
