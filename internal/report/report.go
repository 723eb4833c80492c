// Package report writes an HTML page about training runs. The page is self-contained: it needs no
// network, no other file and no script.
//
// The package receives metrics, configurations and predictions; it runs no model and reads no files of
// a run. html/template escapes all text of a run.
package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/sftseq/sftseq/internal/baseline"
	"github.com/sftseq/sftseq/internal/chart"
	"github.com/sftseq/sftseq/internal/metrics"
	"github.com/sftseq/sftseq/internal/provenance"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/train"
	"github.com/sftseq/sftseq/tokenizers"
)

// Run is a training run, with the data that the page shows.
type Run struct {
	Name    string
	Config  *sft.Config
	Metrics *train.Metrics
	Starts  []provenance.Start // starts of the training; empty if not recorded
	Began   string             // note on the initial model, or "" if trained from scratch
	// Tokenizer decodes the tokens of Results. If it is nil, token ids are shown.
	Tokenizer tokenizers.Tokenizer
	Outputs   string   // number and kind of the outputs, such as "10 classes"
	Results   *Results // results of a classifier, or nil
	Missing   string   // reason why the model was not evaluated, or ""
	Members   *Members // fusion of which the run is a member, or nil
	Labels    *Labels  // results of a multi-label model, instead of Results
	Numbers   *Numbers // results of a regression model, instead of Results
	Tags      *Tags    // results of a tagging model, instead of Results
	// NodeTags has the results of a tagging model whose tokens have features, instead of Tags.
	NodeTags *NodeTags
	// Evidence measures whether the predictions of Results depend on the tokens with the largest pooling
	// weights. It is nil if this was not measured.
	Evidence *Evidence
}

// Results has the results of a classifier on labelled rows.
type Results struct {
	Data     string // file and split of the rows
	Note     string // note for the reader, or ""
	Report   *metrics.Report
	Curves   []metrics.Curve  // curves of the classes for which they are defined
	Baseline *baseline.Result // baselines on these rows; may be nil
	Examples []Example
}

// Example is a row and the model's output for it.
type Example struct {
	Row    uint32
	ID     string // identifier of the row, or ""
	Label  int32
	Tokens [][]int32 // tokens of the sequence, or of both sides of a pair
	// Features and Edges are set instead of Tokens if the tokens of the row have features.
	Features [][]float32
	Edges    []seq.Edge
	Output   sft.Output
}

// Evidence measures how predictions depend on the tenth of a row's tokens that has the largest pooling
// weights. Kept is the fraction of rows whose predicted class stays the same if the model reads only this
// tenth. Changed is the fraction of rows whose predicted class changes if the model reads all tokens but
// this tenth. RandomKept and RandomChanged are the same fractions for a random tenth of the tokens.
type Evidence struct {
	Rows                   int
	Kept, RandomKept       float64
	Changed, RandomChanged float64
	P                      float64 // two-sided p-value of McNemar's exact test between Changed and RandomChanged
}

//go:embed page.html
var pageText string

//go:embed style.css
var style string

// page parses the template on first use, because parsing takes longer than the rest of the
// program's start.
var page = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page").Funcs(template.FuncMap{
		"percent": func(v float64) string { return fmt.Sprintf("%.2f%%", 100*v) },
		"number":  chart.Short,
		"value":   func(v *float64) string { return fmt.Sprintf("%.4f", *v) },
	}).Parse(pageText))
})

// view is the data of the template.
type view struct {
	Style   template.CSS
	Title   string
	Runs    []runView
	Several bool
	Charts  []Curve
	// Measured reports whether the first table has a score of a run on labelled rows.
	Measured bool
	Config   configTable
	Lengths  []lengthChart
	Evidence bool // whether a run has Evidence
	// Examples reports whether there are examples. Rule states how they were selected.
	Examples bool
	Rule     Rule
	Layered  bool // whether a model has layers, and so a training curve
	Attends  bool // whether the layers of a model have attention
}

// runView is a run with its style and its parts of the page.
type runView struct {
	Run
	Swatch         template.HTML // sample of the run's colour, dashes and marks
	Summary        summary
	Classes        *classes
	Classification *classification
	Several        *labelsView
	Scatters       []scatter
	Tagged         *tagsView
	Nodes          *nodeTagsView
	Examples       []exampleView
}

// Rule states how the examples of a page were selected.
type Rule struct{ Rows, Tags, NodeTags string }

// Write writes the page about runs to w.
func Write(w io.Writer, runs []Run, rule Rule) error {
	v := view{Style: template.CSS(strings.Replace(style, "/* charts */", chart.DarkStyle(), 1)), Several: len(runs) > 1,
		Charts: Curves(runs), Rule: rule, Lengths: lengthCharts(runs)}
	var err error
	if v.Config, err = newConfigTable(runs); err != nil {
		return err
	}
	var names []string
	for i, r := range runs {
		names = append(names, r.Name)
		v.Evidence = v.Evidence || r.Evidence != nil
		rv := runView{Run: r, Swatch: chart.Swatch(chart.StyleOf(i), "colour of "+r.Name).Inline(),
			Summary: summarize(r)}
		if r.Labels != nil {
			rv.Several = newLabelsView(r)
		}
		if r.Numbers != nil {
			rv.Scatters = scatters(r, i)
		}
		if r.Tags != nil {
			rv.Tagged = newTagsView(r)
		}
		if r.NodeTags != nil {
			rv.Nodes = newNodeTagsView(r)
		}
		if r.Results != nil {
			rv.Classes = newClasses(r.Config, r.Results.Report)
			rv.Classification = newClassification(r, i)
			if rv.Examples, err = exampleViews(r.Config, r.decoder(), r.Results.Examples); err != nil {
				return fmt.Errorf("%s: %w", r.Name, err)
			}
			v.Examples = v.Examples || len(rv.Examples) > 0
		}
		v.Measured = v.Measured || rv.Summary.Measured != none
		v.Layered = v.Layered || !r.Config.IsLinear()
		v.Attends = v.Attends || !r.Config.IsLinear() && r.Config.HasAttention()
		v.Runs = append(v.Runs, rv)
	}
	v.Title = "Training report: " + strings.Join(names, ", ")
	return page().Execute(w, v)
}

// summary is a run's column in the first table, with the notes below the table.
type summary struct {
	Rows, Date, Duration, Device                string
	Step, Epoch, TrainLoss, Best, Tokens, Speed string
	Measured, Baseline                          string // scores of the model and of the best baseline on labelled rows
	Notes                                       []string
}

// none is shown for values that are not available.
const none = "–"

func summarize(r Run) summary {
	s := summary{Rows: none, Date: none, Duration: none, Device: none, Step: none, Epoch: none, TrainLoss: none,
		Best: none, Tokens: none, Speed: none}
	s.Measured, s.Baseline = formatScores(r)
	m := r.Metrics
	if r.Began != "" {
		s.Notes = append(s.Notes, r.Began)
	}
	if len(r.Starts) > 0 {
		s.Rows, s.Device, s.Date = fmt.Sprint(r.Starts[0].TrainRows), joinDevices(r.Starts), formatDates(r.Starts)
	}
	if n := len(m.Train); n > 0 {
		s.Duration = formatDuration(trainingTime(m, r.Starts))
		last := m.Train[n-1]
		s.Step, s.Epoch, s.TrainLoss = fmt.Sprint(last.Step), fmt.Sprintf("%.2f", last.Epoch),
			fmt.Sprintf("%.4f", last.Loss)
		tokens := 0
		var speeds []float64
		for _, l := range m.Train {
			tokens += l.Tokens
			speeds = append(speeds, l.TokensPerS)
		}
		s.Tokens, s.Speed = chart.Short(float64(tokens)), chart.Short(median(speeds))
	}
	var best *train.EvaluationReport
	for i := range m.Validation {
		if v := &m.Validation[i]; best == nil || v.Best || !best.Best && percent(v.Accuracy) > percent(best.Accuracy) {
			best = v
		}
	}
	if best != nil {
		metric := "accuracy"
		if best.SelectedBy != "" {
			metric = best.SelectedBy
		}
		score := fmt.Sprintf("a loss of %.4f", best.Loss)
		if best.BitsPerToken != nil {
			score += fmt.Sprintf(", %.4f bits per masked token", *best.BitsPerToken)
		}
		if best.Accuracy != nil {
			score = fmt.Sprintf("%.2f%%", percent(best.Accuracy))
			if best.SpanF1 != nil {
				score += fmt.Sprintf(" of the tokens, span F1 %.4f", *best.SpanF1)
			} else if best.InstanceIoU != nil {
				score += fmt.Sprintf(" of the tokens, instance IoU %.4f", *best.InstanceIoU)
			}
		} else if best.MAP != nil && best.MacroF1 != nil {
			score = fmt.Sprintf("macro F1 %.4f, mean average precision %.4f", *best.MacroF1, *best.MAP)
		} else if best.R2 != nil {
			score = fmt.Sprintf("R² %.4f", *best.R2)
		}
		s.Best = fmt.Sprintf("%s (step %d, selected by %s)", score, best.Step, metric)
	} else if r.Config.IsLinear() {
		s.Notes = append(s.Notes, "Linear models have no training curve.")
	} else {
		s.Notes = append(s.Notes, "The validation split has not been evaluated yet.")
	}
	if m.Torn {
		s.Notes = append(s.Notes,
			"The last line of metrics.jsonl is incomplete and was skipped: the run is still writing it, or was killed.")
	}
	if n := len(m.Skipped); n > 0 {
		s.Notes = append(s.Notes, fmt.Sprintf("%d steps made no update because their gradient overflowed float16.", n))
	}
	return s
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}
