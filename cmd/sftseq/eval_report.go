package main

import (
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"

	"sftseq/internal/metrics"
)

// evalResult is what eval prints.
type evalResult struct {
	Model string `json:"model"`
	Data  string `json:"data"`
	*metrics.Report
	Ranking *metrics.Ranking `json:"ranking,omitempty"` // of documents, by a model of pairs
	names   []string
}

// mostClasses is how many classes a confusion matrix shows to a person.
const mostClasses = 20

// write prints a table for a person.
func (e *evalResult) write(w io.Writer) error {
	t := &lines{w: tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)}
	t.add("accuracy\t%.2f%%\t", 100*e.Accuracy)
	t.add("loss\t%.4f\t", e.Loss)
	t.add("macro F1\t%.4f\t", e.MacroF1)
	if e.AUC != nil {
		t.add("AUC\t%.4f\t", *e.AUC)
	}
	t.add("calibration error\t%.4f\t", e.CalibrationError)
	t.add("rows\t%d\t", e.Rows)
	t.add("\nlength\trows\taccuracy\t")
	for _, b := range e.ByLength {
		t.add("%d–%d\t%d\t%.2f%%\t", b.From, b.To, b.Rows, 100*b.Accuracy)
	}
	e.classes(t)
	if e.Ranking != nil {
		e.ranking(t)
	}
	if t.err != nil {
		return t.err
	}
	return t.w.(*tabwriter.Writer).Flush()
}

// classes prints a row for each class: its recall and what was answered.
func (e *evalResult) classes(t *lines) {
	matrix := len(e.Recall) <= mostClasses
	head := "\nclass\trecall\t"
	for i := range e.Recall {
		if matrix {
			head += "→" + e.name(i) + "\t"
		}
	}
	t.add("%s", head)
	for i, recall := range e.Recall {
		row := e.name(i) + "\t"
		if recall == nil {
			row += "no rows\t"
		} else {
			row += fmt.Sprintf("%.2f%%\t", 100**recall)
		}
		for _, n := range e.Confusion[i] {
			if matrix {
				row += strconv.FormatInt(n, 10) + "\t"
			}
		}
		t.add("%s", row)
	}
}

// ranking prints how far in front the right documents stand.
func (e *evalResult) ranking(t *lines) {
	r := e.Ranking
	t.add("\nranking\tmodel\tchance\t")
	t.add("MRR\t%.4f\t%.4f\t", r.MRR, r.ChanceMRR)
	for _, k := range r.Recall {
		t.add("recall@%d\t%.2f%%\t%.2f%%\t", k.K, 100*k.Recall, 100*k.Chance)
	}
	t.add("%d of %d queries among %d documents, by class %s", r.Queries, r.AllQueries, r.Documents, e.name(1))
}

func (e *evalResult) name(class int) string {
	if e.names != nil {
		return e.names[class]
	}
	return strconv.Itoa(class)
}
