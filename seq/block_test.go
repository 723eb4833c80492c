package seq

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

// blockSpecs returns specifications that cover every width of tokens, pairs and ids.
func blockSpecs() []Spec {
	specs := []Spec{listopsSpec(), listopsSpec(), listopsSpec(), listopsSpec(), listopsSpec()}
	specs[1].VocabSize, specs[2].VocabSize, specs[3].Task, specs[4].IDs = 300, 70000, Retrieval, true
	return specs
}

// TestBlocks checks that rows written in blocks and one by one are read back unchanged, and that
// the manifest agrees with the file.
func TestBlocks(t *testing.T) {
	for _, spec := range blockSpecs() {
		rows := examples(5000, 60, spec, 3)
		rows[7].Label, rows[4000].Label = NoLabel, NoLabel
		b := must.Get(CreateDataset(t.TempDir(), spec, false))(t)
		out := must.Get(b.Split("train"))(t)
		block, next := NewBlock(&spec), 0
		flush := func() {
			must.Succeed(t, out.WriteBlock(block))
			block = NewBlock(&spec)
		}
		for ; next < 3; next++ {
			must.Succeed(t, out.Write(rows[next]))
		}
		for ; next < 4900; next++ {
			must.Succeed(t, block.Append(rows[next]))
			if next == 100 || next == 101 || next == 2500 {
				flush()
			}
		}
		if block.Rows() != 4900-2501 || block.Bytes() < block.Rows() {
			t.Errorf("block of %d rows and %d bytes, want 2399 rows and at least a byte per row", block.Rows(),
				block.Bytes())
		}
		flush()
		flush() // also writes an empty block
		for ; next < len(rows); next++ {
			must.Succeed(t, out.Write(rows[next]))
		}
		must.Succeed(t, out.Close())
		d := must.Get(b.Finish(nil))(t)
		must.Check(t, d.Verify())
		f := must.Get(d.Open("train"))(t)
		defer f.Close()
		for i := range rows {
			rows[i].Index, rows[i].ID = uint32(i), "" // random access does not keep ids
			if e, err := f.Example(i); err != nil || !reflect.DeepEqual(e, rows[i]) {
				t.Fatalf("row %d: read %v, error %v; want %v", i, e, err, rows[i])
			}
		}
		info := must.Get(inspectPath(d.path("train")))(t)
		if split := d.Manifest.Splits["train"]; split.Rows != 5000 || split.Lengths != info.Lengths ||
			!reflect.DeepEqual(split.Labels, info.Labels) {
			t.Errorf("manifest %+v, file %+v, want the same rows, lengths and labels", split, info)
		}
	}
}

// TestNarrow checks for each width of tokens that valid ids are stored in the expected number of
// bytes, and that ids are refused if and only if checkID refuses them.
func TestNarrow(t *testing.T) {
	pad := int32(3)
	for _, vocab := range []int{1, 2, 200, 256, 257, 258, 1000, 1 << 16, 1<<16 + 1, 1<<16 + 2} {
		for _, p := range []*int32{nil, &pad, new(int32)} {
			spec := Spec{Task: Classification, VocabSize: vocab, PadID: p}
			if spec.Validate() != nil {
				continue
			}
			block := NewBlock(&spec)
			for _, id := range []int32{0, 1, 2, 3, 4, 199, 200, 255, 256, 257, 258, 999, 1000, 65535, 65536, 65537,
				65539, 1 << 20, math.MaxInt32, -1, -2, -256, -65536, math.MinInt32} {
				before := block.Rows()
				err := block.Append(Example{A: []int32{id}})
				if (err == nil) != (spec.checkID(id) == nil) ||
					block.Rows()-before != map[bool]int{true: 1}[err == nil] {
					t.Errorf("vocabulary %d: appending id %d: got error %v and %d new rows; want a row unless checkID "+
						"returns an error, and otherwise the error %v", vocab, id, err, block.Rows()-before,
						spec.checkID(id))
				}
			}
			ids, width := vocab, 4
			if p != nil && *p == 0 {
				ids-- // the ids begin at 1
			}
			switch {
			case ids <= 1<<8:
				width = 1
			case ids <= 1<<16:
				width = 2
			}
			if block.Rows() > 0 && len(block.batches[0].tokens[0].values) != width*block.Rows() {
				t.Errorf("vocabulary %d: %d bytes for %d rows, want %d bytes per row", vocab,
					len(block.batches[0].tokens[0].values), block.Rows(), width)
			}
			// One id is invalid, at each position of rows of 1 to 11 tokens.
			for n := 1; n < 12; n++ {
				for at := range n {
					row := slices.Repeat([]int32{2}, n)
					row[at] = int32(vocab)
					if err := block.Append(Example{A: row}); vocab > 2 &&
						(err == nil || !strings.Contains(err.Error(), fmt.Sprintf("index %d: expected", at))) {
						t.Errorf("vocabulary %d: appending %v: error %v, want one for index %d", vocab, row, err, at)
					}
				}
			}
		}
	}
}

// TestBlockRefuses checks that a block has no rows that Append refused, and that Close refuses a label
// without a name.
func TestBlockRefuses(t *testing.T) {
	spec := listopsSpec()
	block := NewBlock(&spec)
	good := Example{A: []int32{1, 2}, Label: 3}
	for _, e := range []Example{good, {}, {A: []int32{1, 17}}, {A: []int32{0}}, {A: []int32{1}, Label: -2}, good} {
		if err := block.Append(e); (err == nil) != reflect.DeepEqual(e, good) {
			t.Errorf("appending %v: error %v, want an error only for invalid rows", e, err)
		}
	}
	if block.Rows() != 2 {
		t.Errorf("%d rows, want 2", block.Rows())
	}
	block.Relabel(func(l int32) int32 { return l + 9 })
	var out bytes.Buffer
	w := must.Get(NewWriter(&out, spec, FileFormat))(t)
	must.Check(t, w.WriteBlock(block))
	must.Fail(t, "expected a label from 0 to 9, found 12")(w.Close())
}

// TestFirstRowRefused checks that a refused first row of a record batch, at the start and after a full
// record batch, does not prevent the valid rows from being written.
func TestFirstRowRefused(t *testing.T) {
	spec := listopsSpec()
	var out bytes.Buffer
	w := must.Get(NewWriter(&out, spec, FileFormat))(t)
	block := NewBlock(&spec)
	for i := range batchRows + 1 {
		if i%batchRows == 0 {
			if err := errors.Join(w.Write(Example{A: []int32{99}}),
				block.Append(Example{A: []int32{99}})); err == nil || !strings.Contains(err.Error(), "\n") {
				t.Fatalf("error %v, want one from Write and one from Append", err)
			}
		}
		if i == batchRows {
			break
		}
		must.Succeed(t, errors.Join(w.Write(Example{A: []int32{1}}), block.Append(Example{A: []int32{1}})))
	}
	if err := errors.Join(w.WriteBlock(block), w.Close()); err != nil || w.row != 2*batchRows {
		t.Errorf("%d rows, error %v; want %d rows", w.row, err, 2*batchRows)
	}
}

// TestRenameForeignFile checks that RenameLabels fails if a directory has the name of a split's
// file.
func TestRenameForeignFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	b := must.Get(CreateDataset(dir, listopsSpec(), false))(t)
	defer b.Abort()
	must.Get(b.Split("train"))(t)
	must.Succeed(t, os.Mkdir(filepath.Join(dir, "train.arrow"), 0o777))
	must.Fail(t, "expected a regular file")(b.RenameLabels(context.Background(), []string{"x"},
		func(l int32) int32 { return 0 }))
}

// TestRenameLabels checks that label names set after the rows are written result in the same files as
// names set before.
func TestRenameLabels(t *testing.T) {
	for _, spec := range blockSpecs() {
		var fingerprints []string
		for _, late := range []bool{false, true} {
			dir := t.TempDir()
			spec.LabelNames = []string{"b", "c"}
			number := func(l int32) int32 { return []int32{1, 2, 0}[l] } // from the order b, c, a
			if !late {
				spec.LabelNames = []string{"a", "b", "c"}
			}
			b := must.Get(CreateDataset(dir, spec, false))(t)
			var splits []*SplitWriter
			for i, name := range []string{"train", "test"} {
				out := must.Get(b.Split(name))(t)
				defer out.Abort()
				splits = append(splits, out)
				plain := spec
				plain.LabelNames = nil
				for range 3 {
					block := NewBlock(&plain)
					for _, e := range examples(1500, 40, plain, uint64(i)) {
						if e.Label != NoLabel {
							e.Label %= 3
						}
						must.Succeed(t, block.Append(e))
					}
					if !late {
						block.Relabel(number)
					}
					must.Succeed(t, out.WriteBlock(block))
				}
			}
			if late {
				must.Succeed(t, b.RenameLabels(context.Background(), []string{"a", "b", "c"}, number))
			}
			for _, out := range splits {
				must.Succeed(t, out.Close())
			}
			must.Fail(t, "", "labels of a closed split were renamed")(b.RenameLabels(context.Background(), nil, number))
			d := must.Get(b.Finish(nil))(t)
			must.Check(t, d.Verify())
			fingerprints = append(fingerprints, d.Fingerprint())
			if files, _ := os.ReadDir(dir); len(files) != 3 {
				t.Errorf("found the files %v, want two splits and a manifest", files)
			}
		}
		if fingerprints[0] != fingerprints[1] {
			t.Errorf("vocabulary %d: got fingerprint %s with names set late, want %s as with names set early",
				spec.VocabSize, fingerprints[1], fingerprints[0])
		}
	}
}

// TestRenameCancelled checks that a cancelled renaming of labels leaves no files.
func TestRenameCancelled(t *testing.T) {
	dir, spec := t.TempDir(), listopsSpec()
	b := must.Get(CreateDataset(dir, spec, false))(t)
	out := must.Get(b.Split("train"))(t)
	must.Succeed(t, out.Write(Example{A: make7(), Label: 1}))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	must.Fail(t, "", "RenameLabels succeeded with a cancelled context")(b.RenameLabels(ctx, slices.Clone(spec.LabelNames), func(l int32) int32 { return l }))
	out.Abort()
	b.Abort()
	if files, _ := filepath.Glob(filepath.Join(dir, "*")); len(files) != 0 {
		t.Errorf("files %v remain, want none", files)
	}
	if files, _ := filepath.Glob(filepath.Join(dir, ".*")); len(files) != 0 {
		t.Errorf("hidden files %v remain, want none", files)
	}
}

// TestAppendBytes checks that AppendBytes adds and refuses the same rows as Append with the ids of
// the byte tokenizer, for texts of 0 to 199 bytes.
func TestAppendBytes(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, task := range []string{Classification, Retrieval} {
		spec := Spec{Task: task, VocabSize: 257, PadID: new(int32), IDs: true}
		fast, slow := NewBlock(&spec), NewBlock(&spec)
		for n := range 200 {
			var texts [2]string
			var ids [2][]int32
			for i := range len(fast.columns) {
				text := make([]byte, n)
				for at := range text {
					text[at] = byte(random.Uint32())
					ids[i] = append(ids[i], int32(text[at])+1)
				}
				texts[i] = string(text)
			}
			errFast, errSlow := fast.AppendBytes(texts[0], texts[1], Example{Label: 3, ID: strings.Repeat("é", n%3)}),
				slow.Append(Example{A: ids[0], B: ids[1], Label: 3, ID: strings.Repeat("é", n%3)})
			if (errFast == nil) != (n > 0) || fmt.Sprint(errFast) != fmt.Sprint(errSlow) {
				t.Errorf("%s, %d bytes: AppendBytes returned error %v, want %v as from Append, an error only for 0 "+
					"bytes", task, n, errFast, errSlow)
			}
		}
		if !reflect.DeepEqual(fast.batches, slow.batches) || fast.Rows() != 199 {
			t.Errorf("%s: the rows of AppendBytes differ from those of Append", task)
		}
	}
	spec := Spec{Task: Classification, VocabSize: 258, PadID: new(int32)}
	must.Fail(t, "expected a vocabulary of 257")(NewBlock(&spec).AppendBytes("a", "", Example{}))
	spec.VocabSize = 257
	must.Fail(t, "has one sequence, found a second")(NewBlock(&spec).AppendBytes("a", "b", Example{}))
}
