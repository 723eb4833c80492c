package seq

import (
	"bytes"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sftseq/sftseq/internal/must"
)

func numbersSpec() Spec {
	return Spec{Task: Regression, VocabSize: 9, NumberNames: []string{"mass", "charge"}}
}

// TestNumbers checks that numbers, including unknown numbers, are read back unchanged in both
// formats and by random access. It also checks their summary.
func TestNumbers(t *testing.T) {
	spec := numbersSpec()
	var want []Example
	for i := range 3000 { // fills several record batches
		e := Example{Index: uint32(i), A: []int32{int32(i % 9), 1}, Label: NoLabel}
		if i%5 > 0 {
			e.Numbers = []float32{float32(i) / 3, -float32(i)}
		}
		want = append(want, e)
	}
	for _, format := range []Format{FileFormat, StreamFormat} {
		got, gotSpec, err := readAll(bytes.NewReader(encode(t, want, spec, format)))
		if err != nil || !reflect.DeepEqual(got, want) || !reflect.DeepEqual(*gotSpec, spec) {
			t.Fatalf("format %v: got %d rows, unchanged: %v, specification %+v, error %v; want %d unchanged rows, %+v",
				format, len(got), reflect.DeepEqual(got, want), gotSpec, err, len(want), &spec)
		}
	}
	for _, ids := range []bool{false, true} {
		spec.IDs = ids
		d := trainingSplit(t, spec, want)
		f := must.Get(d.Open("train"))(t)
		defer f.Close()
		for _, i := range []int{0, 1, 1500, 2999} {
			if e, err := f.Example(i); err != nil || !reflect.DeepEqual(e, want[i]) {
				t.Errorf("row %d: %+v, want %+v; error %v", i, e, want[i], err)
			}
		}
		var mean, squares float64
		for _, e := range want {
			if e.Numbers != nil {
				mean += float64(e.Numbers[0]) / 2400
			}
		}
		for _, e := range want {
			if e.Numbers != nil {
				squares += (float64(e.Numbers[0]) - mean) * (float64(e.Numbers[0]) - mean)
			}
		}
		n := d.Manifest.Splits["train"].Numbers
		if len(n) != 2 || n[0].Name != "mass" || n[0].Rows != 2400 || n[0].Min != float64(float32(1)/3) ||
			n[1].Min != -2999 || n[1].Max != -1 ||
			math.Abs(n[0].Mean-mean) > 1e-9 || math.Abs(n[0].Deviation-math.Sqrt(squares/2400)) > 1e-9 ||
			len(d.Manifest.Splits["train"].Labels) != 0 {
			t.Errorf("split %+v, want mean %v and sum of squared deviations %v", d.Manifest.Splits["train"], mean,
				squares)
		}
		r := must.Get(d.Reader("train"))(t)
		info, err := Inspect(r)
		r.Close()
		if err != nil || !reflect.DeepEqual(info.Numbers[1].Mean, n[1].Mean) {
			t.Errorf("Inspect returned %+v, error %v; want the mean %v", info, err, n[1].Mean)
		}
	}
}

// TestBadNumbers checks that the writer and the reader refuse numbers that are not finite and a
// wrong count of numbers. Validate must refuse invalid names. The numbers of a sliced record must be
// read at the slice's offset.
func TestBadNumbers(t *testing.T) {
	spec := numbersSpec()
	for want, e := range map[string]Example{
		`number "charge": expected a finite number, found NaN`: {A: []int32{1}, Label: NoLabel,
			Numbers: []float32{1, float32(math.NaN())}},
		`number "mass": expected a finite number, found -Inf`: {A: []int32{1}, Label: NoLabel,
			Numbers: []float32{float32(math.Inf(-1)), 1}},
		"expected 2 numbers, found 1":   {A: []int32{1}, Label: NoLabel, Numbers: []float32{1}},
		"expected numbers, found label": {A: []int32{1}, Label: 1},
	} {
		b := NewBlock(&spec)
		must.Fail(t, want)(b.Append(e))
		plain := Spec{Task: Classification, VocabSize: 9}
		must.Fail(t, "expected 0 numbers, found 2",
			"numbers of a classification")(NewBlock(&plain).Append(Example{A: []int32{1}, Numbers: []float32{1, 2}}))
	}
	for name, c := range map[string]struct {
		change func(*Spec)
		want   string
	}{
		"labels": {func(s *Spec) { s.LabelNames = []string{"a"} }, "label_names: expected none"},
		"too many": {func(s *Spec) { s.LabelNames = make([]string, MaxLabelNames+1) },
			"label_names: expected at most 65536 names, found 65537"},
		"no names":       {func(s *Spec) { s.NumberNames = nil }, "number_names: expected 1 to 1024 names, found 0"},
		"twice":          {func(s *Spec) { s.NumberNames = []string{"a", "a"} }, `expected distinct names, found "a" twice`},
		"empty":          {func(s *Spec) { s.NumberNames = []string{""} }, "names that are not empty"},
		"classification": {func(s *Spec) { s.Task = Classification }, "number_names: expected none"},
	} {
		s := numbersSpec()
		c.change(&s)
		must.Fail(t, c.want, name)(s.Validate())
	}

	schema := spec.Schema()
	record := func(fill func(b *array.FixedSizeListBuilder, v *array.Float32Builder)) arrow.Record {
		list := arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Float32)
		metadata := schema.Metadata()
		b := array.NewRecordBuilder(memory.DefaultAllocator,
			arrow.NewSchema([]arrow.Field{schema.Field(0), {Name: ColumnNumbers, Type: list, Nullable: true}},
				&metadata))
		tokens := b.Field(0).(*array.ListBuilder)
		for range 3 {
			tokens.Append(true)
			tokens.ValueBuilder().(*array.Uint8Builder).Append(1)
		}
		numbers := b.Field(1).(*array.FixedSizeListBuilder)
		fill(numbers, numbers.ValueBuilder().(*array.Float32Builder))
		return b.NewRecord()
	}
	good := record(func(b *array.FixedSizeListBuilder, v *array.Float32Builder) {
		b.Append(true)
		v.AppendValues([]float32{1, 2}, nil)
		b.AppendNull()
		b.Append(true)
		v.AppendValues([]float32{5, 6}, nil)
	})
	for from := range int64(3) { // the arrays of a slice have an offset
		rows, err := RowsOf(good.NewSlice(from, 3), &spec)
		if err != nil || !reflect.DeepEqual(rows.Example(int(2-from)).Numbers, []float32{5, 6}) || from < 2 &&
			rows.Example(int(1-from)).Numbers != nil {
			t.Errorf("slice from row %d: error %v, want the numbers 5 and 6 in the last row, none in the row before it",
				from, err)
		}
	}
	for want, values := range map[string][]float32{"found +Inf": {3, float32(math.Inf(1))}, "found null": nil} {
		bad := record(func(b *array.FixedSizeListBuilder, v *array.Float32Builder) {
			b.Append(true)
			v.AppendValues([]float32{1, 2}, nil)
			b.Append(true)
			if v.AppendValues(values, nil); values == nil {
				v.AppendNull()
				v.Append(1)
			}
			b.AppendNull()
		})
		if _, err := RowsOf(bad, &spec); err == nil ||
			!strings.Contains(err.Error(), "row 1, column numbers: number ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	one := spec
	one.NumberNames = spec.NumberNames[:1]
	must.Fail(t, "expected fixed_size_list<float32>[1]", "other numbers")(RowsOf(good, &one))
}
