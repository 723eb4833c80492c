package task

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
)

// TestWorstRows checks that only the MaxWorst rows with the largest errors are written, in
// descending order. Rows with equal errors keep the order of the file. Correct rows are not
// written.
func TestWorstRows(t *testing.T) {
	c := &sft.Config{
		Task: config.Regression,
		Head: config.Head{NumLabels: 1, Numbers: []config.Number{{Name: "n", Mean: 10, Deviation: 2}}},
	}
	var out bytes.Buffer
	m := must.Get(NewMistakes(Of(c), &out, "csv", nil, true))(t)
	const rows = 3 * MaxWorst
	for i := range rows {
		off := float32((i * 7919) % rows / 2) // each value occurs twice
		m.See(&seq.Example{Index: uint32(i), A: []int32{1}, Numbers: []float32{10}}, 1, []float32{-off})
	}
	must.Succeed(t, m.Close())
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if lines[0] != "id,row,deviations,number,actual_n,predicted_n" || len(lines) != MaxWorst+1 ||
		m.Omitted() != rows-2-MaxWorst {
		t.Fatalf("got header %q, %d lines, %d omitted rows; want %d lines, %d omitted rows", lines[0], len(lines),
			m.Omitted(), MaxWorst+1, rows-2-MaxWorst)
	}
	before := -1
	for i, line := range lines[1:] {
		off := rows/2 - 1 - i/2
		var row int
		var rest string
		must.Get(fmt.Sscanf(line, ",%d,%s", &row, &rest))(t)
		if want := fmt.Sprintf("%d,n,10,%d", off, 10-2*off); rest != want || i%2 == 1 && row < before {
			t.Errorf("line %d: got %s after row %d, want %s", i, line, before, want)
		}
		before = row
	}
}

// TestLabelsInTables checks that a labels column is a JSON list if a label's name contains the
// separator.
func TestLabelsInTables(t *testing.T) {
	for _, c := range []struct {
		names []string
		want  string
	}{
		{[]string{"a", "b"}, `,0,a;b,,2,2.126928,0.11920292,0.11920292`},
		{[]string{"a;b", "c"}, `,0,"[""a;b"",""c""]",[],2,2.126928,0.11920292,0.11920292`},
	} {
		cfg := &sft.Config{
			Task: config.MultiLabel,
			Head: config.Head{NumLabels: 2, LabelNames: c.names},
		}
		var out bytes.Buffer
		m := must.Get(NewMistakes(Of(cfg), &out, "csv", nil, true))(t)
		m.See(&seq.Example{A: []int32{1}, Labels: []int32{0, 1}}, 1, []float32{-2, -2})
		m.See(&seq.Example{A: []int32{1}, Labels: []int32{1}}, 1, []float32{-2, 2}) // predicted correctly
		must.Succeed(t, m.Close())
		if got := strings.Split(out.String(), "\n"); got[1] != c.want || len(got) != 3 {
			t.Errorf("labels %q: got %q, want %s", c.names, got, c.want)
		}
	}
}

// TestSpanMistakes checks that tokens without a label are ignored when spans are compared.
func TestSpanMistakes(t *testing.T) {
	cfg := &sft.Config{
		Task: config.Tagging,
		Head: config.Head{NumLabels: 3, LabelNames: []string{"O", "B-X", "I-X"}},
	}
	var out bytes.Buffer
	m := must.Get(NewMistakes(Of(cfg), &out, "csv", nil, true))(t)
	see := func(id string, labels, predictions []int32) {
		logits := make([]float32, 3*len(predictions))
		for i, tag := range predictions {
			logits[3*i+int(tag)] = 1
		}
		m.See(&seq.Example{ID: id, A: slices.Repeat([]int32{1}, len(labels)), Labels: labels}, len(labels), logits)
	}
	see("right", []int32{1, -1, 2, 0, -1}, []int32{1, 0, 2, 0, 1})
	see("short", []int32{0, 1, 2, 2}, []int32{0, 1, 2, 0})
	must.Succeed(t, m.Close())
	if got, want := out.String(),
		"id,row,mistake,label,start,end,text\nshort,0,missed,X,1,4,\nshort,0,wrong,X,1,3,\n"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
