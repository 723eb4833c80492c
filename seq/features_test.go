package seq

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sftseq/sftseq/internal/must"
)

func cloudSpec() Spec {
	return Spec{Task: Classification, LabelNames: []string{"box", "ball"},
		FeatureNames: []string{"x", "y", "z", "heat"}}
}

// clouds returns n rows with random features. The parameter longest is the maximum number of tokens in
// a row.
func clouds(n, longest int) (out []Example) {
	random := rand.New(rand.NewPCG(uint64(n), 1))
	for i := range n {
		e := Example{Index: uint32(i), Label: int32(i % 2), ID: fmt.Sprint("cloud ", i)}
		for range 1 + random.IntN(longest) {
			e.Features = append(e.Features, []float32{float32(i), random.Float32(), -random.Float32(), 1e-40})
		}
		out = append(out, e)
	}
	return out
}

// equalRows reports whether two rows are equal and have no token ids.
func equalRows(a, b Example) bool {
	return len(a.A) == 0 && len(b.A) == 0 && a.Index == b.Index && a.Label == b.Label && a.ID == b.ID &&
		reflect.DeepEqual(a.Labels, b.Labels) && reflect.DeepEqual(a.Features, b.Features) &&
		reflect.DeepEqual(a.Edges, b.Edges)
}

// TestFeatures checks that features are read back unchanged, in both formats, by random access and
// within a window. The length of a row is its number of tokens with features.
func TestFeatures(t *testing.T) {
	spec := cloudSpec()
	spec.IDs = true
	want := clouds(700, 60) // fills several record batches
	for _, format := range []Format{FileFormat, StreamFormat} {
		got, gotSpec, err := readAll(bytes.NewReader(encode(t, want, spec, format)))
		if err != nil || len(got) != len(want) || !reflect.DeepEqual(*gotSpec, spec) {
			t.Fatalf("format %v: got %d rows, specification %+v, error %v; want %d rows, %+v", format, len(got),
				gotSpec, err, len(want), &spec)
		}
		for i := range got {
			if !equalRows(got[i], want[i]) {
				t.Fatalf("format %v: row %d: %+v, want %+v", format, i, got[i], want[i])
			}
		}
	}
	d := trainingSplit(t, spec, want)
	d.Manifest.FeatureNames = []string{"x", "z", "y", "heat"}
	must.Fail(t, `expected the features "x", "z", "y", "heat"`, "features of other names")(d.Open("train"))
	d.Manifest.FeatureNames = spec.FeatureNames
	tokens := 0
	for _, e := range want {
		tokens += e.Length()
	}
	if q := d.Manifest.Splits["train"].Lengths; math.Abs(q.Mean*700-float64(tokens)) > 1e-6 {
		t.Errorf("mean length %v in the manifest, want %d tokens / 700 rows", q.Mean, tokens)
	}
	for _, window := range []int{0, 7} {
		f := must.Get(d.OpenWindow("train", Window{Length: window}))(t)
		defer f.Close()
		for _, i := range []int{0, 1, 350, 699} {
			e, err := f.Example(i)
			read := want[i]
			read.ID = ""
			if window > 0 {
				read.Features = read.Features[:min(window, len(read.Features))]
			}
			if err != nil || !equalRows(e, read) || int(f.Lengths()[i]) != len(read.Features) {
				t.Errorf("window %d: row %d: %+v, want %+v; error %v", window, i, e, read, err)
			}
		}
	}
}

// TestWriteFeatures checks that a block refuses features that a reader would refuse, and accepts
// valid features.
func TestWriteFeatures(t *testing.T) {
	spec := cloudSpec()
	good := clouds(1, 3)[0]
	tagged := spec
	tagged.Task = Tagging
	inf := float32(math.Inf(-1))
	for _, c := range []struct {
		spec   Spec
		change func(e *Example)
		want   string
	}{
		{spec, func(e *Example) { e.Features = nil }, "column features: expected at least one token"},
		{spec, func(e *Example) { e.Features[0] = []float32{1, 2, 3} },
			"column features: index 0: expected 4 numbers, found 3"},
		{spec, func(e *Example) { e.Features[0] = []float32{1, 2, inf, 4} },
			`column features: index 0, "z": expected a finite number, found -Inf`},
		{spec, func(e *Example) { e.A = []int32{1} }, "column tokens: expected no tokens in a row with features"},
		{tagged, func(e *Example) { e.Label, e.Labels = NoLabel, make([]int32, 99) },
			"expected a label for each of the"},
		{listopsSpec(), func(e *Example) { e.A = []int32{1} },
			"column features: expected token ids, found features"},
	} {
		e := good
		e.Features = append([][]float32(nil), good.Features...)
		c.change(&e)
		must.Fail(t, c.want, e)(NewBlock(&c.spec).Append(e))
	}
	b := NewBlock(&spec)
	if err := b.Append(good); err != nil || b.Rows() != 1 {
		t.Errorf("error %v, %d rows; want 1 row", err, b.Rows())
	}
}

// TestForeignFeatures checks that files of other programs with other types are read if the types
// can hold features. Otherwise the error states the location.
func TestForeignFeatures(t *testing.T) {
	f32 := arrow.PrimitiveTypes.Float32
	fixed, lists := arrow.ListOf(arrow.FixedSizeListOf(2, f32)), arrow.ListOf(arrow.ListOf(f32))
	column := func(types ...arrow.DataType) (out []arrow.Field) {
		for _, t := range types {
			out = append(out, arrow.Field{Name: "features", Type: t, Nullable: true})
		}
		return out
	}
	named := map[string]string{"feature_names": `["a","b"]`}
	withKey := func(key, value string) map[string]string {
		return map[string]string{"feature_names": `["a","b"]`, key: value}
	}
	for _, c := range []struct {
		fields []arrow.Field
		meta   map[string]string
		json   string
		want   string // the error, or the features of the rows
	}{
		{column(fixed), named, `[{"features":[[1,2]]},{"features":[[3,4],[5,6]]}]`, "[[[1 2]] [[3 4] [5 6]]]"},
		{column(lists), named, `[{"features":[[1,2]]},{"features":[[3,4],[5,6]]}]`, "[[[1 2]] [[3 4] [5 6]]]"},
		{column(fixed), nil, `[]`, "column features: schema metadata: feature_names: expected a name for each feature"},
		{column(fixed), map[string]string{"feature_names": `["a"]`}, `[]`,
			"column features: expected list<fixed_size_list<float32>[1]> or list<list<float32>>, found list"},
		{column(arrow.ListOf(f32)), named, `[]`, "expected list<fixed_size_list<float32>[2]>"},
		{column(arrow.ListOf(arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Float64))), named, `[]`,
			"expected list<fixed_size_list<float32>[2]>"},
		{column(fixed, fixed), named, `[]`, "column features: expected once, found 2 times"},
		{[]arrow.Field{{Name: "tokens", Type: arrow.ListOf(arrow.PrimitiveTypes.Int32)}}, named, `[]`,
			"column features is missing: feature_names requires it"},
		{append(column(fixed), arrow.Field{Name: "tokens", Type: arrow.ListOf(arrow.PrimitiveTypes.Int32)}), named,
			`[]`, "column tokens: expected no tokens, because features replaces them"},
		{column(fixed), map[string]string{"feature_names": `["a","a"]`}, `[]`,
			`feature_names: expected distinct names, found "a" twice`},
		{column(fixed), map[string]string{"feature_names": `[]`}, `[]`, `feature_names: expected 1 to`},
		{column(fixed), withKey("vocab_size", "5"), `[]`, "feature_names: expected no vocab_size"},
		{column(fixed), withKey("task", "retrieval"), `[]`, "feature_names: task retrieval reads token ids"},
		{column(fixed), named, `[{"features":[[1,2]]},{"features":null}]`,
			"row 1, column features: expected a sequence, found null"},
		{column(fixed), named, `[{"features":[[1,2]]},{"features":[]}]`,
			"row 1, column features: expected at least one token"},
		{column(fixed), named, `[{"features":[[1,2]]},{"features":[[1,2],null]}]`,
			"row 1, column features, index 1: expected a token, found null"},
		{column(fixed), named, `[{"features":[[1,2]]},{"features":[[1,null]]}]`,
			`row 1, column features, index 0, "b": expected a finite number, found null`},
		{column(lists), named, `[{"features":[[1,2]]},{"features":[[3,4],[5]]}]`,
			"row 1, column features, index 1: expected 2 numbers, found 1"},
		{column(lists), named, `[{"features":[[1,2]]},{"features":[[3,4],null]}]`,
			"row 1, column features, index 1: expected a token, found null"},
	} {
		metadata := arrow.MetadataFrom(c.meta)
		got := ""
		rows, _, err := readAll(bytes.NewReader(foreignStream(t, arrow.NewSchema(c.fields, &metadata), c.json)))
		if err != nil {
			got = err.Error()
		} else {
			var features [][][]float32
			for _, e := range rows {
				features = append(features, e.Features)
			}
			got = fmt.Sprint(features)
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%v %v %s: %s, want %q", c.fields, c.meta, c.json, got, c.want)
		}
	}
}

// TestSlicedFeatures checks that a slice of a record has the features of its rows, even if the
// array of tokens is itself a slice. A slice after tokens of another width is refused.
func TestSlicedFeatures(t *testing.T) {
	spec := Spec{Task: Classification, FeatureNames: []string{"a", "b"}}
	const rows = `[{"features":[[1,2]]},{"features":[[3,4],[5,6]]},{"features":[[7,8]]}]`
	for _, item := range []arrow.DataType{arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Float32),
		arrow.ListOf(arrow.PrimitiveTypes.Float32)} {
		schema := arrow.NewSchema([]arrow.Field{{Name: "features", Type: arrow.ListOf(item)}}, nil)
		parse := func(text string) arrow.Record {
			record, _ := must.Get2(array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader(text)))(t)
			return record
		}
		whole := parse(rows)
		tokens := array.NewSlice(whole.Column(0).(*array.List).ListValues(), 1, 4)
		offsets := memory.NewBufferBytes(arrow.Int32Traits.CastToBytes([]int32{0, 2, 3}))
		column := array.NewListData(array.NewData(arrow.ListOf(item), 2, []*memory.Buffer{nil, offsets},
			[]arrow.ArrayData{tokens.Data()}, 0, 0))
		for name, record := range map[string]arrow.Record{
			"rows": whole.NewSlice(1, 3), "tokens": array.NewRecord(schema, []arrow.Array{column}, 2),
		} {
			r := must.Get(RowsOf(record, &spec))(t, item, "a part of the", name)
			if got := fmt.Sprint(r.Features(0), r.Features(1)); got != "[[3 4] [5 6]] [[7 8]]" {
				t.Errorf("%v, a slice of the %s: features %s, want [[3 4] [5 6]] [[7 8]]", item, name, got)
			}
		}
		if item.ID() == arrow.LIST {
			_, err := RowsOf(parse(`[{"features":[[9]]},{"features":[[1,2]]}]`).NewSlice(1, 2), &spec)
			must.Fail(t, "expected contiguous tokens", "behind a token of another width")(err)
		}
	}
}

func TestPoints(t *testing.T) {
	for _, c := range []struct {
		names string
		want  []int
	}{
		{"x y z", []int{0, 1, 2}}, {"heat z y x", []int{3, 2, 1}}, {"x y z nx ny nz", []int{0, 1, 2, 3, 4, 5}},
		{"nx ny nz x y z", []int{3, 4, 5, 0, 1, 2}}, {"x y z nx ny", []int{0, 1, 2}},
		{"x y nx ny nz", nil}, {"heat", nil},
	} {
		if got := Points(strings.Fields(c.names)); !reflect.DeepEqual(got, c.want) {
			t.Errorf("Points(%s) returned %v, want %v", c.names, got, c.want)
		}
	}
}
