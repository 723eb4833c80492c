package task

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"

	"github.com/sftseq/sftseq/internal/baseline"
	"github.com/sftseq/sftseq/internal/metrics"
)

// newClassesResult returns a result, and sets the class names in r.
func newClassesResult(evaluated Evaluated, r *metrics.Report, names []string) *ClassesResult {
	e := &ClassesResult{Evaluated: evaluated, Report: r, names: names}
	for i := range r.Classes {
		r.Classes[i].Name = e.name(i)
	}
	return e
}

// ClassesResult is the output of eval for a classifier.
type ClassesResult struct {
	Evaluated
	*metrics.Report
	Ranking  *metrics.Ranking `json:"ranking,omitempty"`  // ranking of documents; only for models of pairs
	Baseline *baseline.Result `json:"baseline,omitempty"` // classification baselines; nil if unknown
	names    []string
}

// maxClasses is the maximum number of classes in a printed confusion matrix.
const maxClasses = 20

// Write prints the result as a table.
func (e *ClassesResult) Write(w io.Writer) error {
	t := &text{}
	t.add("accuracy\t%.2f%%\t", 100*e.Accuracy)
	if e.Baseline != nil {
		for _, line := range e.Baseline.Lines() {
			t.add("%s\t%.2f%%\t", line.Name, 100*line.Accuracy)
		}
	}
	t.add("mean class accuracy\t%.2f%%\t", 100*e.MeanClassAccuracy)
	t.add("loss\t%.4f\t", e.Loss)
	t.add("macro F1\t%.4f\t", e.MacroF1)
	if e.AUC != nil {
		t.add("AUC\t%.4f\t", *e.AUC)
	}
	if e.MacroAUC != nil {
		t.add("macro AUC\t%.4f\t", *e.MacroAUC)
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
	if _, err := fmt.Fprintln(w, e.Title()); err != nil {
		return err
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	if err := errors.Join(t.writeTo(table), table.Flush()); err != nil || e.Baseline == nil {
		return err
	}
	return e.advise(w, Accuracies(e.Baseline), e.Accuracy, AsPercent)
}

// shownClasses is the length of each of the two lists that replace the table of more than maxClasses
// classes: the classes with the lowest F1, and the classes with the most rows.
const shownClasses = 10

// classes prints precision, recall and F1 of each class, and the confusion matrix. Of more than
// maxClasses classes, it prints only the worst and the most frequent, without a confusion matrix.
func (e *ClassesResult) classes(t *text) {
	const head = "class\tprecision\trecall\tF1\trows\t"
	if len(e.Classes) <= maxClasses {
		row := "\n" + head
		for i := range e.Classes {
			row += "→" + e.name(i) + "\t"
		}
		t.add("%s", row)
		for i := range e.Classes {
			row := e.class(&e.Classes[i])
			for _, n := range e.Confusion[i] {
				row += strconv.FormatInt(n, 10) + "\t"
			}
			t.add("%s", row)
		}
		return
	}
	worst, frequent := e.Chosen(shownClasses)
	for _, part := range []struct {
		title string
		of    []int
	}{{"the classes with the lowest F1", worst}, {"the classes with the most rows", frequent}} {
		t.add("\n%s:", part.title)
		t.add("%s", head)
		for _, i := range part.of {
			t.add("%s", e.class(&e.Classes[i]))
		}
	}
	shown := map[int]bool{}
	for _, i := range append(worst, frequent...) {
		shown[i] = true
	}
	t.add("%d of %d classes are not shown; --json has all", len(e.Classes)-len(shown), len(e.Classes))
}

// class returns the printed row of a class.
func (e *ClassesResult) class(k *metrics.Class) string {
	row := e.name(k.Class) + "\t"
	for _, v := range []*float64{k.Precision, k.Recall} {
		if v == nil {
			row += "–\t"
		} else {
			row += fmt.Sprintf("%.2f%%\t", 100**v)
		}
	}
	f1 := "–"
	if k.F1 != nil {
		f1 = fmt.Sprintf("%.4f", *k.F1)
	}
	return row + fmt.Sprintf("%s\t%d\t", f1, k.Rows)
}

// ranking prints the metrics of ranked documents.
func (e *ClassesResult) ranking(t *text) {
	r := e.Ranking
	t.add("\nranking\tmodel\tchance\t")
	t.add("MRR\t%.4f\t%.4f\t", r.MRR, r.ChanceMRR)
	for _, k := range r.Recall {
		t.add("recall@%d\t%.2f%%\t%.2f%%\t", k.K, 100*k.Recall, 100*k.Chance)
	}
	t.add("%d of %d queries among %d documents, by class %s", r.Queries, r.AllQueries, r.Documents, e.name(1))
}

func (e *ClassesResult) name(class int) string {
	if e.names != nil {
		return e.names[class]
	}
	return strconv.Itoa(class)
}
