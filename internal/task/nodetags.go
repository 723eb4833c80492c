package task

import (
	"github.com/sftseq/sftseq/internal/requests"
	"github.com/sftseq/sftseq/internal/table"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/tokenizers"
)

// nodeTags is the task of a model that tags tokens with features. Such tokens are usually points or
// nodes, whose order has no meaning, so their tags do not form spans.
type nodeTags struct{ commonTask }

// predictedTags is the prediction for a graph or point cloud: a tag per token.
type predictedTags struct {
	Tags   []any     `json:"tags"`
	Scores []float32 `json:"scores"` // probability of each predicted tag
}

func (t nodeTags) ReadLabels(r *requests.Request, e *seq.Example) (err error) {
	e.Labels, err = parseTags(t.config, r.Labels, e.First())
	return err
}

func (t nodeTags) Prediction(_ *requests.Request, o sft.Output) (any, error) {
	var out predictedTags
	n := t.config.NumLabels
	for i, tag := range t.config.TagsOf(o.Logits) {
		out.Tags = append(out.Tags, t.config.Label(int(tag)))
		out.Scores = append(out.Scores, sft.Probabilities(o.Logits[i*n : (i+1)*n])[tag])
	}
	return out, nil
}

func (t nodeTags) ResponseNumbers(tokens int) int { return tagNumbers(t.config, tokens) }

// Columns returns the columns of tags and of their probabilities, as JSON lists.
func (t nodeTags) Columns(format string) requests.Columns {
	names := []string{"tags", "scores"}
	if format == "jsonl" {
		return requests.JSONColumns(func(prediction any) []any {
			a := prediction.(predictedTags)
			return []any{a.Tags, a.Scores}
		}, names...)
	}
	return requests.Columns{Columns: []table.OutputColumn{{Name: names[0]}, {Name: names[1]}},
		Values: func(prediction any) []any {
			a := prediction.(predictedTags)
			return []any{asJSON(a.Tags), asJSON(a.Scores)}
		}}
}

func (nodeTags) Method() string { return "sequence/tag" }

func (nodeTags) Shape() any { return predictedTags{} }

func (nodeTags) Notification() string { return "sequence/publishSpans" }

// tagMistakes is a [Mistakes] that writes the tokens with a wrong predicted tag.
type tagMistakes struct {
	mistakeWriter
	config *sft.Config
}

func (t nodeTags) mistakes(string, tokenizers.Tokenizer) ([]table.OutputColumn, func(mistakeWriter) Mistakes) {
	columns := []table.OutputColumn{{Name: "token", Kind: table.IntColumn}, labelColumn(t.config, "label"),
		labelColumn(t.config, "predicted")}
	return columns, func(w mistakeWriter) Mistakes { return &tagMistakes{w, t.config} }
}

func (m *tagMistakes) See(x *seq.Example, _ int, logits []float32) {
	for i, tag := range m.config.TagsOf(logits) {
		if label := x.Labels[i]; label != seq.NoLabel && label != tag {
			m.write(x.ID, x.Index, int64(i), columnValue(m.config.Label(int(label))),
				columnValue(m.config.Label(int(tag))))
		}
	}
}

func (t nodeTags) CheckLabels(s *seq.Spec) error { return checkLabels(t.config, s, seq.Tagging) }

func (nodeTags) RequireLabels(s *seq.Spec, path string) error { return checkTagged(s, path) }

func (t nodeTags) Outputs() (one, many string, names []string) {
	return "tag", "tags", t.config.LabelNames
}

func (t nodeTags) Draw(e *seq.Example, tokens int, d Draws) { drawTags(t.config, e, tokens, d) }
