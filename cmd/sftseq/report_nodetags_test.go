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
type tagCounts struct{ labels, answers, both int }

func (c tagCounts) f1() float64 { return 2 * float64(c.both) / float64(max(1, c.labels+c.answers)) }

// iou returns the intersection over union of labels and predictions; 1 for a part without either.
func (c tagCounts) iou() float64 {
	if either := c.labels + c.answers - c.both; either > 0 {
		return float64(c.both) / float64(either)
	}
	return 1
}

// countTags adds the labels and predictions of a shape to the counts of their tags.
func countTags(into map[int32]tagCounts, labels, answers []int32) {
	for i, label := range labels {
		l := into[label]
		l.labels++
		if answers[i] == label {
			l.both++
		}
		into[label] = l
		a := into[answers[i]]
		a.answers++
		into[answers[i]] = a
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
	parts := func(of string) (out []int32) {
		for tag := range names {
			if category(int32(tag)) == of {
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
		of := category(e.Labels[0])
		allowed := parts(of)
		best := func(scores []float32) int32 {
			at := allowed[0]
			for _, tag := range allowed {
				if scores[tag] > scores[at] {
					at = tag
				}
			}
			return at
		}
		var answers [2][]int32
		for point := range e.Labels {
			answers[0] = append(answers[0], best(outputs[i].Logits[point*len(names):][:len(names)]))
			answers[1] = append(answers[1], best(frequent))
		}
		sum := sums[of]
		for who := range answers {
			countTags(tags[who], e.Labels, answers[who])
			shape := map[int32]tagCounts{}
			countTags(shape, e.Labels, answers[who])
			for _, part := range allowed {
				sum[who] += shape[part].iou() / float64(len(allowed))
			}
		}
		sums[of], shapes[of] = sum, shapes[of]+1
	}
	row := func(name string, count int, scores ...float64) string {
		out := fmt.Sprintf(`<tr><th scope="row">%s</th><td class="n">%d</td>`, name, count)
		for _, s := range scores {
			out += fmt.Sprintf(`<td class="n">%.4f</td>`, s)
		}
		return out + "</tr>"
	}
	for of, n := range shapes {
		contains(t, page, row(of, n, sums[of][0]/float64(n), sums[of][1]/float64(n)))
	}
	for tag, count := range tags[0] {
		contains(t, page, row(names[tag], count.labels, count.f1(), tags[1][tag].f1()))
	}
}
