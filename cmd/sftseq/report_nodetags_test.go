package main

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/cpu"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
)

// tagCounts counts the points that have a tag as label, as prediction, and as both.
type tagCounts struct{ labels, predictions, both int }

func (c tagCounts) f1() float64 { return 2 * float64(c.both) / float64(max(1, c.labels+c.predictions)) }

// iou returns the intersection over union of labels and predictions; 1 for a part without either.
func (c tagCounts) iou() float64 {
	if either := c.labels + c.predictions - c.both; either > 0 {
		return float64(c.both) / float64(either)
	}
	return 1
}

// countTags adds the labels and predictions of a shape to the counts of their tags.
func countTags(counts map[int32]tagCounts, labels, predictions []int32) {
	for i, label := range labels {
		l := counts[label]
		l.labels++
		if predictions[i] == label {
			l.both++
		}
		counts[label] = l
		a := counts[predictions[i]]
		a.predictions++
		counts[predictions[i]] = a
	}
}

// checkNodeTags compares the tables of a report on part segmentation with scores that it computes
// itself. The model predicts the part with the largest logit among the parts of the shape's
// category. The baseline predicts the most frequent part of the category in the training split.
func checkNodeTags(t *testing.T, page, model, data string) {
	t.Helper()
	set := must.Get(seq.OpenDataset(data))(t)
	names := set.Manifest.LabelNames
	category := func(tag int32) string { return names[tag][:strings.LastIndex(names[tag], "/")] }
	parts := func(shapeCategory string) (out []int32) {
		for tag := range names {
			if category(int32(tag)) == shapeCategory {
				out = append(out, int32(tag))
			}
		}
		return out
	}
	frequent := make([]float32, len(names))
	for _, e := range examples(t, set, "train") {
		for _, label := range e.Labels {
			frequent[label]++
		}
	}
	m := must.Get(sft.Load(model))(t)
	d := cpu.New(1)
	defer d.Close()
	scorer := must.Get(sft.NewScorer(m, d))(t)
	rows := examples(t, set, "test")
	outputs := must.Get(scorer.Examples(context.Background(), rows))(t)
	tags := [2]map[int32]tagCounts{{}, {}} // counts for the model and for the most frequent parts
	sums, shapes := map[string][2]float64{}, map[string]int{}
	for i, e := range rows {
		shapeCategory := category(e.Labels[0])
		allowed := parts(shapeCategory)
		best := func(scores []float32) int32 {
			best := allowed[0]
			for _, tag := range allowed {
				if scores[tag] > scores[best] {
					best = tag
				}
			}
			return best
		}
		var predictions [2][]int32
		for point := range e.Labels {
			predictions[0] = append(predictions[0], best(outputs[i].Logits[point*len(names):][:len(names)]))
			predictions[1] = append(predictions[1], best(frequent))
		}
		sum := sums[shapeCategory]
		for predictor := range predictions {
			countTags(tags[predictor], e.Labels, predictions[predictor])
			shape := map[int32]tagCounts{}
			countTags(shape, e.Labels, predictions[predictor])
			for _, part := range allowed {
				sum[predictor] += shape[part].iou() / float64(len(allowed))
			}
		}
		sums[shapeCategory], shapes[shapeCategory] = sum, shapes[shapeCategory]+1
	}
	row := func(name string, count int, scores ...float64) string {
		out := fmt.Sprintf(`<tr><th scope="row">%s</th><td class="n">%d</td>`, name, count)
		for _, s := range scores {
			out += fmt.Sprintf(`<td class="n">%.4f</td>`, s)
		}
		return out + "</tr>"
	}
	for shapeCategory, n := range shapes {
		contains(t, page, row(shapeCategory, n, sums[shapeCategory][0]/float64(n), sums[shapeCategory][1]/float64(n)))
	}
	for tag, count := range tags[0] {
		contains(t, page, row(names[tag], count.labels, count.f1(), tags[1][tag].f1()))
	}
}
