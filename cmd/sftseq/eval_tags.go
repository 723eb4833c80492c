package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/metrics"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
)

// tagsResult is what eval prints of a model of tagging.
type tagsResult struct {
	Model string `json:"model"`
	Data  string `json:"data"`
	Split string `json:"split,omitempty"`
	trained
	Rows int     `json:"rows"`
	Loss float64 `json:"loss"` // mean over the tokens with a label
	tagScores
	// Baselines are what simple models of the training split reach; none where there is no such split.
	Baselines []tagBaseline `json:"baselines,omitempty"`
}

// tagScores is what is reached on the tags of a file.
type tagScores struct {
	Tokens   int64               `json:"tokens"` // with a label
	Accuracy float64             `json:"accuracy"`
	MacroF1  float64             `json:"macro_f1"`
	Spans    metrics.SpanScore   `json:"spans"` // all of them
	ByType   []metrics.SpanScore `json:"spans_by_type"`
	ByTag    []metrics.TagScore  `json:"tags"`
}

func scoresOf(t *metrics.Tagging, names []string) tagScores {
	return tagScores{t.Tokens(), t.Accuracy(), t.MacroF1(), t.AllSpans(), t.Spans(), t.Tags(names)}
}

// tagBaseline is what a simple model reaches.
type tagBaseline struct {
	Name     string  `json:"name"`
	Accuracy float64 `json:"accuracy"`
	MacroF1  float64 `json:"macro_f1"`
	SpanF1   float64 `json:"span_f1"`
}

// mostTypes is how many types of spans are printed.
const mostTypes = 40

func (r *tagsResult) write(w io.Writer) error {
	out := &lines{w: w}
	of := r.Data
	if r.Split != "" {
		of = fmt.Sprintf("the split %s of %s", r.Split, r.Data)
	}
	out.add("%s on %s: %d rows, %d tokens with a label, loss %.4f", r.Model, of, r.Rows, r.Tokens, r.Loss)
	out.add("%-40s  %8s  %8s  %8s", "", "accuracy", "macro F1", "span F1")
	out.add("%-40s  %7.2f%%  %8.4f  %8.4f", "model", 100*r.Accuracy, r.MacroF1, r.Spans.F1)
	for _, b := range r.Baselines {
		out.add("%-40s  %7.2f%%  %8.4f  %8.4f", b.Name, 100*b.Accuracy, b.MacroF1, b.SpanF1)
	}
	out.add("%-20s  %9s  %9s  %9s  %9s  %9s", "spans", "precision", "recall", "F1", "labels", "answers")
	for _, s := range append([]metrics.SpanScore{r.Spans}, r.ByType[:min(len(r.ByType), mostTypes)]...) {
		if s.Type == "" {
			s.Type = "all"
		}
		out.add("%-20s  %9.4f  %9.4f  %9.4f  %9d  %9d", s.Type, s.Precision, s.Recall, s.F1, s.Spans, s.Answers)
	}
	if more := len(r.ByType) - mostTypes; more > 0 {
		out.add("and %d more types (--json has all)", more)
	}
	return out.err
}

// evalTags measures the tags that a model gives the tokens of rows.
func evalTags(c *cli.Context, m *sft.Model) error {
	in, err := openEvalRows(c, m, fmt.Sprintf("the model %s tags tokens and has no class of a row: sftseq predict writes the spans that it finds", c.String("model")))
	if err != nil {
		return err
	}
	defer in.close()
	if in.Spec().Task != seq.Tagging {
		return fmt.Errorf("%s: expected a label for each token (task %s), found task %s", in.path, seq.Tagging, in.Spec().Task)
	}
	simple, err := newSimpleTags(c.String("data"), m.Config)
	if err != nil {
		return err
	}
	r := &tagsResult{Model: c.String("model"), Data: c.String("data"), Split: in.split, trained: trainedIn(c.String("model"))}
	p := newProgress(in.total, "evaluating", "rows")
	err = r.measure(c.Context, m.Config, in.Reader, in.score, simple, p.Add)
	p.Finish()
	if err != nil {
		return fmt.Errorf("%s: %w", in.path, err)
	}
	return show(c, r, r.write)
}

// measure reads all rows.
func (r *tagsResult) measure(ctx context.Context, config *sft.Config, in *seq.Reader, score func(context.Context, []seq.Example) ([]sft.Output, error), simple []*simpleTags, done func(int64)) error {
	tally := metrics.NewTagging(config.LabelNames, config.NumLabels)
	const together, tokensTogether = 64, 1 << 16
	for {
		rows, err := in.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		for from := 0; from < rows.Len(); {
			var examples []seq.Example
			for tokens := 0; from+len(examples) < rows.Len() && len(examples) < together && tokens < tokensTogether; {
				e := rows.Example(from + len(examples))
				if e.A, err = config.Window(e.A); err == nil && e.Labels == nil {
					err = errors.New("column label: expected a label for each token, found none")
				}
				if err != nil {
					return fmt.Errorf("row %d: %w", e.Index, err)
				}
				e.Labels = e.Labels[:len(e.A)]
				tokens += len(e.A)
				examples = append(examples, e)
			}
			outputs, err := score(ctx, examples)
			if err != nil {
				return err
			}
			for i, o := range outputs {
				e := &examples[i]
				for t, label := range e.Labels {
					if int(label) >= config.NumLabels {
						return fmt.Errorf("row %d: label %d of token %d, the model has %d", e.Index, label, t, config.NumLabels)
					}
				}
				loss := config.TaggingLossOf(o.Logits, *e)
				if math.IsNaN(loss) || math.IsInf(loss, 0) {
					return fmt.Errorf("row %d: the model's output is not finite", e.Index)
				}
				r.Loss += loss
				tally.Add(e.Labels, config.TagsOf(o.Logits))
				for _, s := range simple {
					s.tally.Add(e.Labels, s.tags(e.A))
				}
			}
			r.Rows, from = r.Rows+len(examples), from+len(examples)
			done(int64(len(examples)))
		}
	}
	if tally.Tokens() == 0 {
		return fmt.Errorf("expected tokens with a label, found none in %d rows", r.Rows)
	}
	r.Loss /= float64(tally.Tokens())
	r.tagScores = scoresOf(tally, config.LabelNames)
	for _, s := range simple {
		r.Baselines = append(r.Baselines, tagBaseline{s.name, s.tally.Accuracy(), s.tally.MacroF1(), s.tally.SpanF1()})
	}
	return nil
}

// simpleTags is a model that gives each token the most frequent tag that it had in the training
// split, or the same tag to all.
type simpleTags struct {
	name  string
	most  int32           // the most frequent of all
	of    map[int32]int32 // by token; nil: the same for all
	tally *metrics.Tagging
}

func (s *simpleTags) tags(tokens []int32) []int32 {
	out := make([]int32, len(tokens))
	for i, token := range tokens {
		out[i] = s.most
		if tag, ok := s.of[token]; ok {
			out[i] = tag
		}
	}
	return out
}

// newSimpleTags counts the tags of a data set's training split; there are none without one.
func newSimpleTags(path string, config *sft.Config) ([]*simpleTags, error) {
	if info, err := os.Stat(path); path == "-" || err != nil || !info.IsDir() {
		return nil, nil
	}
	set, err := seq.OpenDataset(path)
	if err != nil || set.Manifest.Splits["train"].Rows == 0 {
		return nil, err
	}
	in, err := set.Reader("train")
	if err != nil {
		return nil, err
	}
	defer in.Close()
	all, by := make([]int64, config.NumLabels), map[int32][]int64{}
	for {
		rows, err := in.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		for i := range rows.Len() {
			e := rows.Example(i)
			for t, label := range e.Labels {
				if label < 0 || int(label) >= config.NumLabels {
					continue
				}
				counts := by[e.A[t]]
				if counts == nil {
					counts = make([]int64, config.NumLabels)
					by[e.A[t]] = counts
				}
				all[label]++
				counts[label]++
			}
		}
	}
	most := &simpleTags{name: "the most frequent tag", most: mostFrequent(all)}
	each := &simpleTags{name: "the most frequent tag of each token", most: most.most, of: map[int32]int32{}}
	for token, counts := range by {
		each.of[token] = mostFrequent(counts)
	}
	for _, s := range []*simpleTags{most, each} {
		s.tally = metrics.NewTagging(config.LabelNames, config.NumLabels)
	}
	return []*simpleTags{most, each}, nil
}

// mostFrequent is the first of the largest.
func mostFrequent(counts []int64) int32 {
	best := 0
	for i, n := range counts {
		if n > counts[best] {
			best = i
		}
	}
	return int32(best)
}
