package inference

import (
	"bytes"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/requests"
	"github.com/sftseq/sftseq/internal/task"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
)

// TestBED checks that a row has a BED line of six columns per span, in order. Names and positions that BED
// cannot represent, --keep, --tokens and models without spans are errors.
func TestBED(t *testing.T) {
	cfg := &sft.Config{Task: config.Tagging}
	m := &Model{config: cfg, hasPositions: true, columns: predictionColumns(task.Of(cfg))}
	var out bytes.Buffer
	rows := must.Get(m.NewRows(&out, "bed", &Table{Sources: []string{"sequence"}}))(t)
	spans := func(unit string, found ...config.Span) requests.Reply {
		return requests.Reply{Prediction: requests.Spans{Spans: found, Unit: unit}}
	}
	write := func(id any, reply any) error {
		return rows.out.Write(rows.row(&tableRow{Request: &requests.Request{}, id: id}, reply))
	}
	for _, err := range []error{
		write("chr1", spans(requests.Characters, config.Span{Start: 1, End: 3, Label: "gene(-)", Score: 0.9876},
			config.Span{Start: 7, End: 8, Label: "x y", Score: 1}, config.Span{Start: 8, End: 9, Label: "(+)"})),
		write("chr2", spans(requests.Characters)),
		write("chr3", requests.Refusal{Error: &requests.Failure{Message: "bad"}}),
		rows.Close(),
	} {
		must.Check(t, err)
	}
	if want := "chr1\t1\t3\tgene\t988\t-\nchr1\t7\t8\tx y\t1000\t.\nchr1\t8\t9\t(+)\t0\t.\n"; out.String() != want ||
		rows.Failed != 1 {
		t.Errorf("got %q, want %q; got %d failed rows, want 1", out.String(), want, rows.Failed)
	}
	classes := &sft.Config{Task: config.Classification}
	one := config.Span{Start: 1, End: 3, Label: "gene"}
	for want, err := range map[string]error{
		"no tab":                           write("a\tb", spans(requests.Characters, one)),
		"not empty":                        write("a", spans(requests.Characters, config.Span{End: 1})),
		"does not provide token positions": write("a", spans(requests.Tokens, one)),
		"--keep":                           second(m.NewRows(&out, "bed", &Table{Keep: []string{"x"}})),
		"--text, found --tokens":           second(m.NewRows(&out, "bed", &Table{Tokens: true})),
		"a model of task classification": second((&Model{config: classes,
			columns: predictionColumns(task.Of(classes))}).NewRows(&out, "bed", &Table{})),
		"requires a model that tags": second((&Model{config: m.config, columns: embeddingColumns}).NewRows(&out,
			"bed", &Table{})),
	} {
		must.Fail(t, want)(err)
	}
}

func second(_ *Rows, err error) error { return err }
