package metrics

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

// partNames has the tags of two categories, not in sorted order.
var partNames = []string{"mug/body", "bolt/head", "bolt/shaft", "mug/handle", "bolt/nut"}

// TestPartIoU compares scores with values computed by hand.
func TestPartIoU(t *testing.T) {
	p := NewParts(partNames)
	// A mug: the body has an IoU of 2/4, the handle of 1/3.
	p.Add([]int32{0, 0, 0, 3, 3}, []int32{0, 0, 3, 3, 0})
	// A correctly predicted bolt without a nut. The unlabelled point is ignored.
	p.Add([]int32{1, 2, -1, 2}, []int32{1, 2, 4, 2})
	// A bolt with one shaft point predicted as a nut: IoU of the head 1, shaft ½, nut 0.
	p.Add([]int32{1, 2, 2}, []int32{1, 2, 4})
	p.Add([]int32{-1, -1}, []int32{0, 4}) // ignored: a shape without labels
	mug, first, second := (2.0/4+1.0/3)/2, 1.0, (1.0+0.5+0)/3
	if got, want := p.InstanceIoU(), (mug+first+second)/3; math.Abs(got-want) > 1e-15 || p.Shapes() != 3 {
		t.Errorf("got instance IoU %v over %d shapes, want %v", got, p.Shapes(), want)
	}
	if got, want := p.ClassIoU(), (mug+(first+second)/2)/2; math.Abs(got-want) > 1e-15 {
		t.Errorf("got class IoU %v, want %v", got, want)
	}
	if got, want := p.Accuracy(), 8.0/11; got != want {
		t.Errorf("got accuracy %v, want %v", got, want)
	}
	want := []CategoryScore{{"bolt", 3, 2, (first + second) / 2}, {"mug", 2, 1, mug}}
	if got := p.Categories(); len(got) != 2 || math.Abs(got[1].IoU-mug) > 1e-15 {
		t.Errorf("got %v, want %v", got, want)
	} else if want[1].IoU = got[1].IoU; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	// A scene with a mug and a bolt: five parts, with the nut absent, and one shape of each
	// category.
	scene := NewParts(partNames)
	scene.Add([]int32{0, 3, 1, 2}, []int32{0, 3, 2, 2})
	if got, want := scene.InstanceIoU(), (1+1+0+0.5+1)/5; math.Abs(got-want) > 1e-15 || scene.Shapes() != 1 ||
		len(scene.Categories()) != 2 {
		t.Errorf("a scene: got instance IoU %v over %d shapes, want %v", got, scene.Shapes(), want)
	}
	if empty := NewParts(partNames); empty.InstanceIoU() != 0 || empty.ClassIoU() != 0 || empty.Accuracy() != 0 {
		t.Error("got scores above 0 without shapes")
	}
}

// TestPartsPredict checks that the prediction is the part with the largest logit, among the parts of the
// labels' categories or, without labels, among all parts.
func TestPartsPredict(t *testing.T) {
	p := NewParts(partNames)
	logits := []float32{9, 1, 2, 3, 0, 5, 7, 1, 8, 7}
	for _, c := range []struct{ labels, want []int32 }{
		{[]int32{1, -1}, []int32{2, 1}},
		{[]int32{-1, 3}, []int32{0, 3}},
		{[]int32{0, 1}, []int32{0, 3}},
		{[]int32{-1, -1}, []int32{0, 3}},
	} {
		if got := p.Predict(c.labels, logits); !reflect.DeepEqual(got, c.want) {
			t.Errorf("labels %v: got %v, want %v", c.labels, got, c.want)
		}
	}
}

// TestPartCategory checks that Category returns the category of a shape's labels, and all
// categories of a scene.
func TestPartCategory(t *testing.T) {
	p := NewParts(partNames)
	for want, labels := range map[string][]int32{"mug": {-1, 3, 0}, "bolt": {4}, "bolt, mug": {0, -1, 1, 2}, "": {-1}} {
		if got := p.Category(labels); got != want {
			t.Errorf("labels %v: got %q, want %q", labels, got, want)
		}
	}
}

// TestPartNames checks that NewParts returns nil without names or if a name does not have the form
// CATEGORY/PART, and that the last slash of a name ends the category.
func TestPartNames(t *testing.T) {
	for _, names := range [][]string{nil, {"a"}, {"a/b", "c"}, {"/b"}, {"a/"}, {"a/b", ""}} {
		if p := NewParts(names); p != nil {
			t.Errorf("%q: got %+v, want nil", names, p)
		}
	}
	if p := NewParts([]string{"a/b/c", "a/b/d", "a/e"}); !reflect.DeepEqual(p.categories, []string{"a", "a/b"}) {
		t.Errorf("got %+v, want the categories a and a/b", p)
	}
}

// TestPartProperties checks on random shapes that the IoU equals the IoU of point sets and is
// invariant under permutation. It is 1 for the labels themselves, and decreases if a correct point
// becomes wrong.
func TestPartProperties(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	categories := map[string][]int32{"mug": {0, 3}, "bolt": {1, 2, 4}}
	iou := func(labels, predictions []int32) float64 {
		p := NewParts(partNames)
		p.Add(labels, predictions)
		return p.InstanceIoU()
	}
	for range 300 {
		parts := categories[[]string{"mug", "bolt"}[r.IntN(2)]]
		labels, predictions := make([]int32, 1+r.IntN(12)), []int32(nil)
		for i := range labels {
			labels[i] = parts[r.IntN(len(parts))]
			predictions = append(predictions, parts[r.IntN(len(parts))])
			if i > 0 && r.IntN(5) == 0 {
				labels[i] = -1
			}
		}
		want := 0.0
		for _, part := range parts {
			intersection, union := map[int]bool{}, map[int]bool{}
			for i, label := range labels {
				if label >= 0 && (label == part || predictions[i] == part) {
					union[i] = true
				}
				if label == part && predictions[i] == part {
					intersection[i] = true
				}
			}
			if len(union) == 0 {
				want++
			} else {
				want += float64(len(intersection)) / float64(len(union))
			}
		}
		got := iou(labels, predictions)
		if want /= float64(len(parts)); math.Abs(got-want) > 1e-12 {
			t.Fatalf("labels %v, predictions %v: got IoU %v, want %v", labels, predictions, got, want)
		}
		if self := iou(labels, labels); self != 1 {
			t.Fatalf("labels %v: got IoU %v of the labels with themselves, want 1", labels, self)
		}
		a, b := slices.Clone(labels), slices.Clone(predictions)
		r.Shuffle(len(a), func(i, j int) { a[i], a[j], b[i], b[j] = a[j], a[i], b[j], b[i] })
		if other := iou(a, b); math.Abs(other-got) > 1e-12 {
			t.Fatalf("labels %v, predictions %v: got IoU %v after a permutation, %v before", labels, predictions, other, got)
		}
		for i, label := range labels {
			if label >= 0 && predictions[i] == label {
				worse := slices.Clone(predictions)
				worse[i] = parts[(slices.Index(parts, label)+1)%len(parts)]
				if iou(labels, worse) >= got {
					t.Fatalf("labels %v, predictions %v: IoU %v does not decrease with another mistake", labels,
						predictions, got)
				}
			}
		}
	}
}
