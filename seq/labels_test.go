package seq

import (
	"bytes"
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sftseq/sftseq/internal/must"
)

func labelListSpec(task string) Spec {
	return Spec{Task: task, VocabSize: 9, LabelNames: []string{"a", "b", "c"}}
}

// labelListExamples returns n rows with lists of labels. Every fifth list is unknown. For multi-label,
// some lists are empty.
func labelListExamples(task string, n int) (out []Example) {
	for i := range n {
		e := Example{Index: uint32(i), A: make([]int32, 1+i%7), Label: NoLabel}
		switch {
		case i%5 == 0:
		case task == MultiLabel:
			e.Labels = [][]int32{{}, {1}, {0, 2}, {0, 1, 2}}[i%4]
		default:
			e.Labels = make([]int32, len(e.A))
			for j := range e.Labels {
				e.Labels[j] = int32((i+j)%4) - 1 // including NoLabel
			}
		}
		out = append(out, e)
	}
	return out
}

// TestLabelLists checks that lists of labels are read back unchanged in both formats, and by random
// access with and without ids and a window.
func TestLabelLists(t *testing.T) {
	for _, task := range []string{MultiLabel, Tagging} {
		spec, want := labelListSpec(task), labelListExamples(task, 3000) // fills several record batches
		for _, format := range []Format{FileFormat, StreamFormat} {
			got, gotSpec, err := readAll(bytes.NewReader(encode(t, want, spec, format)))
			if err != nil || !reflect.DeepEqual(got, want) || !reflect.DeepEqual(*gotSpec, spec) {
				t.Fatalf("%s, format %v: got %d rows, unchanged: %v, specification %+v, error %v; want %d unchanged "+
					"rows, %+v", task, format, len(got), reflect.DeepEqual(got, want), gotSpec, err, len(want), &spec)
			}
		}
		for _, ids := range []bool{false, true} {
			spec.IDs = ids
			set := trainingSplit(t, spec, want)
			for _, window := range []int{0, 3} {
				f := must.Get(set.OpenWindow("train", Window{Length: window}))(t)
				for i, w := range want {
					e, err := f.Example(i)
					if window > 0 && len(w.A) > window {
						if w.A = w.A[:window]; w.Labels != nil && task == Tagging {
							w.Labels = w.Labels[:window]
						}
					}
					if w.ID = ""; err != nil || !reflect.DeepEqual(e, w) {
						t.Fatalf("%s, ids %v, window %d: row %d is %+v, want %+v; error %v", task, ids, window, i, e, w,
							err)
					}
				}
				f.Close()
			}
		}
	}
}

// trainingSplit writes a data set with only a training split and opens it. Rows without an id get
// their index as the id.
func trainingSplit(t testing.TB, spec Spec, rows []Example) *Dataset {
	t.Helper()
	dir := t.TempDir()
	b := must.Get(CreateDataset(dir, spec, false))(t)
	w, err := b.Split("train")
	for _, e := range rows {
		if err == nil {
			if e.ID == "" {
				e.ID = fmt.Sprint(e.Index)
			}
			err = w.Write(e)
		}
	}
	if err == nil {
		err = w.Close()
	}
	if err == nil {
		_, err = b.Finish(nil)
	}
	must.Succeed(t, err)
	return must.Get(OpenDataset(dir))(t)
}

// TestLabelCounts checks that the manifest counts rows for each positive label, and tokens for each
// tag.
func TestLabelCounts(t *testing.T) {
	for task, want := range map[string]map[string]int64{
		MultiLabel: {"a": 2, "b": 1, "c": 2, Unlabelled: 1},
		Tagging:    {"a": 2, "b": 1, Unlabelled: 4},
	} {
		rows := []Example{{A: []int32{1, 2}, Labels: []int32{0, 2}}, {A: []int32{1}, Labels: []int32{}},
			{A: []int32{1}}, {A: []int32{3}, Labels: []int32{0, 1, 2}}}
		if task == Tagging {
			rows = []Example{{A: []int32{1, 2, 3, 4}, Labels: []int32{0, NoLabel, 0, 1}}, {A: []int32{1, 1, 1}}}
		}
		for i := range rows {
			rows[i].Label = NoLabel
		}
		set := trainingSplit(t, labelListSpec(task), rows)
		if got := set.Manifest.Splits["train"].Labels; !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, want %v", task, got, want)
		}
	}
}

// TestRenamedLists checks that RenameLabels sorts the labels of a multi-label row again, and keeps
// the order of tags.
func TestRenamedLists(t *testing.T) {
	for task, want := range map[string][]int32{MultiLabel: {0, 1, 2}, Tagging: {2, 0, NoLabel, 1}} {
		spec := labelListSpec(task)
		spec.LabelNames = nil
		b := must.Get(CreateDataset(t.TempDir(), spec, false))(t)
		defer b.Abort()
		w := must.Get(b.Split("train"))(t)
		e := Example{A: []int32{1, 1, 1, 1}, Label: NoLabel, Labels: []int32{0, 1, NoLabel, 2}}
		if task == MultiLabel {
			e.Labels = []int32{0, 1, 2}
		}
		block := NewBlock(&spec)
		for _, e := range []Example{e, {A: []int32{4}, Label: NoLabel}} {
			must.Succeed(t, block.Append(e))
		}
		must.Succeed(t, w.WriteBlock(block))
		must.Succeed(t, b.RenameLabels(context.Background(), []string{"x", "y", "z"},
			func(n int32) int32 { return (n + 2) % 3 }))
		must.Succeed(t, w.Close())
		set := must.Get(b.Finish(nil))(t)
		f := must.Get(set.OpenWindow("train", Window{}))(t)
		got, err := f.Example(0)
		if err != nil || !reflect.DeepEqual(got.Labels, want) {
			t.Errorf("%s: labels %v, want %v; error %v", task, got.Labels, want, err)
		}
		if unknown, err := f.Example(1); err != nil || unknown.Labels != nil {
			t.Errorf("%s: labels %v, want unknown; error %v", task, unknown.Labels, err)
		}
		f.Close()
	}
}

// TestBadLabelLists checks that the writer and the reader refuse invalid lists of labels, and that
// the reader's error states the location.
func TestBadLabelLists(t *testing.T) {
	for want, c := range map[string]struct {
		task   string
		labels []int32
		label  int32
	}{
		"index 1: expected a label from 0 to 2, found 3":                      {MultiLabel, []int32{0, 3}, NoLabel},
		"index 0: expected a label ≥ 0, found -1":                             {MultiLabel, []int32{-1, 0}, NoLabel},
		"index 1: expected distinct labels in ascending order, found 1 after": {MultiLabel, []int32{1, 1}, NoLabel},
		"expected a label for each of the 2 tokens, found 1 labels":           {Tagging, []int32{1}, NoLabel},
		"index 1: expected a label ≥ 0, found -2":                             {Tagging, []int32{0, -2}, NoLabel},
		"expected a list of labels for task tagging, found label 1":           {Tagging, nil, 1},
		"expected no list of labels for task classification, found 1 labels":  {Classification, []int32{1}, NoLabel},
	} {
		spec := labelListSpec(c.task)
		b := NewBlock(&spec)
		err := b.Append(Example{A: []int32{1, 2}, Label: c.label, Labels: c.labels})
		if err == nil || !strings.Contains(err.Error(), "column label: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
		if b.Rows() != 0 {
			t.Error("the refused row was added")
		}
		if !spec.ListsLabels() || c.label != NoLabel || c.labels[0] < NoLabel {
			continue
		}
		_, err = RowsOf(recordOfLists(&spec, c.labels), &spec)
		if want := "row 1, column label: "; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	other, spec := labelListSpec(Classification), labelListSpec(Tagging)
	must.Fail(t, "expected list<int32> for task tagging, found int32")(spec.checkColumns(other.Schema()))
}

// recordOfLists returns a record whose second row has the given labels.
func recordOfLists(spec *Spec, labels []int32) arrow.Record {
	b := array.NewRecordBuilder(memory.DefaultAllocator, spec.Schema())
	for i := range 2 {
		tokens := b.Field(0).(*array.ListBuilder)
		tokens.Append(true)
		tokens.ValueBuilder().(*array.Uint8Builder).AppendValues([]uint8{1, 2}, nil)
		list := b.Field(1).(*array.ListBuilder)
		list.Append(i == 1)
		if i == 1 {
			list.ValueBuilder().(*array.Int32Builder).AppendValues(labels, nil)
		}
	}
	return b.NewRecord()
}
