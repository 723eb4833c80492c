package lra

import (
	"cmp"
	"math"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/seq"
)

// drawImages draws n images, a quarter of them with -short, or the number in
// SFTSEQ_PATHFINDER_IMAGES. It calls visit for each image and returns the number of images.
func drawImages(t *testing.T, seed uint64, n int, rule PathfinderRule, visit func(n int, e seq.Example)) int {
	t.Helper()
	if testing.Short() {
		n /= 4
	}
	if s := os.Getenv("SFTSEQ_PATHFINDER_IMAGES"); s != "" {
		n = must.Get(strconv.Atoi(s))(t)
	}
	d := pathfinderDraw{random: random{seed: seed}, rule: rule}
	for i := range n {
		visit(i, d.draw(uint64(i)))
	}
	return n
}

// TestPathfinderTraced checks that a tracer that reads only the pixels predicts the label. For
// 2,000 images of seed 11 its accuracy is about 97.1% without distractors (apart 948 of 983, joined
// 994 of 1,017) and 94.4% with five (941 of 997, 946 of 1,003).
//
// The tracer fails at crossing contours. The rule adds the area of a dash to the mask when the next
// dash of its contour is drawn. Dash k of the second contour may therefore overlap dashes k and k+1 of
// the first. Without distractors, this happens in 252 of the first 1,000 images, and 25 of the 27 errors
// in these 1,000 images are among the 252. A sixth of the steps from dash to dash cross a gap wider
// than 3 px, and a sixth turn by more than 60°.
func TestPathfinderTraced(t *testing.T) {
	for _, c := range []struct {
		name        string
		distractors int
		images      int
		minAccuracy float64
	}{{"without distractors", 0, 60, 0.92}, {"with distractors", 5, 30, 0.85}} {
		t.Run(c.name, func(t *testing.T) {
			rule := LRAPathfinder
			rule.Distractors = c.distractors
			var total, correct [2]int
			complete, steps, wide, sharp := 0, 0, 0, 0
			n := drawImages(t, 11, c.images, rule, func(n int, e seq.Example) {
				marks, ok := readMarks(e.A)
				if !ok {
					t.Errorf("image %d does not have two marks", n)
					return
				}
				tracer := newTracer(e.A, marks)
				best := tracer.search()
				total[e.Label]++
				if predictLabel(best) != e.Label {
					t.Logf("image %d: label %d, readings cost %.1f and %.1f", n, e.Label, best[0].cost, best[1].cost)
					return
				}
				correct[e.Label]++
				contours := best[e.Label].contours
				if contours[0].n == contourDashes && contours[1].n == contourDashes {
					complete++
				}
				for _, contour := range contours {
					for i := 1; i < contour.n; i++ {
						a, b := tracer.dashes[contour.path[i-1]].dash, tracer.dashes[contour.path[i]].dash
						gap, turn := gapAndTurn(a, b)
						steps++
						if gap > 3 {
							wide++
						}
						if turn > math.Pi/3+1e-9 {
							sharp++
						}
					}
				}
			})
			accuracy := float64(correct[0]+correct[1]) / float64(n)
			t.Logf("%d images: accuracy %.4f; apart %d of %d, joined %d of %d; both contours of 14 dashes in %d of %d",
				n, accuracy, correct[0], total[0], correct[1], total[1], complete, correct[0]+correct[1])
			t.Logf("of %d steps, %.3f cross a gap wider than 3 px, %.3f turn by more than 60°", steps,
				float64(wide)/float64(steps), float64(sharp)/float64(steps))
			if accuracy < c.minAccuracy {
				t.Errorf("accuracy of the tracer %.3f, want at least %.2f", accuracy, c.minAccuracy)
			}
			for l := range total {
				if float64(correct[l]) < (c.minAccuracy-0.08)*float64(total[l]) {
					t.Errorf("label %d: only %d of %d images are classified correctly", l, correct[l], total[l])
				}
			}
		})
	}
}

// gapAndTurn returns the gap between the nearest ends of two dashes in pixels, and the angle between
// the dashes in radians.
func gapAndTurn(a, b dash) (gap, turn float64) {
	gap = math.Inf(1)
	for _, a := range []dash{a, a.backwards()} {
		for _, b := range []dash{b, b.backwards()} {
			if g := a[1].to(b[0]).length(); g < gap {
				gap, turn = g, math.Abs(math.Remainder(b.along().direction()-a.along().direction(), 2*math.Pi))
			}
		}
	}
	return gap, turn
}

// TestPathfinderPixels checks properties of the rule in the pixels: about equal numbers of both
// labels, the number of dashes, and no correlation of brightness with the label. Of 5,000 images of
// seed 12, 2,472 are joined, the median number of dashes is 47 of 48, and the AUC of every measure of
// brightness is within 0.013 of one half, with a standard error of 0.008.
func TestPathfinderPixels(t *testing.T) {
	const maxDashes = 2*contourDashes + 5*(contourDashes/3) // maximum number of dashes
	var dashes []int
	var labels []float64
	statistics := map[string][]float64{}
	n := drawImages(t, 12, 300, LRAPathfinder, func(n int, e seq.Example) {
		marks, ok := readMarks(e.A)
		if !ok {
			t.Fatalf("image %d does not have two marks", n)
		}
		for name, value := range brightness(e.A, marks) {
			statistics[name] = append(statistics[name], value)
		}
		found, _, _ := readDashes(e.A, marks)
		dashes, labels = append(dashes, len(found)), append(labels, float64(e.Label))
	})
	joined := 0.
	for _, l := range labels {
		joined += l
	}
	t.Logf("%d images, %v joined", n, joined)
	if deviation := math.Abs(joined - float64(n)/2); deviation > 1.5*math.Sqrt(float64(n)) {
		t.Errorf("%v of %d images are joined, want about half", joined, n)
	}
	slices.Sort(dashes)
	t.Logf("dashes: %d to %d, median %d, 1%% %d, 99%% %d, of %d", dashes[0], dashes[n-1], dashes[n/2],
		dashes[n/100], dashes[n*99/100], maxDashes)
	// Marks hide some of the dashes that end there, and dashes may hide other dashes.
	if dashes[n/2] < maxDashes-2 || dashes[n*99/100] > maxDashes+1 {
		t.Errorf("median %d dashes, 99%% quantile %d, want about %d", dashes[n/2], dashes[n*99/100], maxDashes)
	}
	stdError := math.Sqrt(float64(n+1) / (12 * joined * (float64(n) - joined)))
	for name, values := range statistics {
		auc := rocAUC(values, labels)
		t.Logf("%s: AUC %.4f ± %.4f for the label", name, auc, stdError)
		if math.Abs(auc-0.5) > 3.5*stdError {
			t.Errorf("%s predicts the label: AUC %.4f ± %.4f, want 0.5", name, auc, stdError)
		}
	}
}

// brightness returns statistics of an image's gray levels that do not depend on tracing its contours.
func brightness(pixels []int32, marks [2]spot) map[string]float64 {
	levels := slices.Clone(pixels)
	slices.Sort(levels)
	white, _ := slices.BinarySearch(levels, 255)
	levels = levels[:white]
	sum, bright, near := 0., 0., 0.
	for i, v := range pixels {
		sum += float64(v)
		if v > 100 {
			bright++
		}
		p := spot{i / traceSide, i % traceSide}
		if v < 255 && min(marks[0].to(p).length(), marks[1].to(p).length()) < 5 {
			near = max(near, float64(v))
		}
	}
	return map[string]float64{
		"sum of the levels":     sum,
		"pixels above 100":      bright,
		"brightest dash":        float64(levels[len(levels)-1]),
		"50th brightest pixel":  float64(levels[len(levels)-50]),
		"brightest near a mark": near,
	}
}

// TestPathfinderBrightness checks that the dashes of the traced contours are as bright as the
// remaining dashes. The remaining dashes are those of five distractors of four dashes. Of 300
// images of seed 13, 226 have 20 remaining dashes and 35 have 16. The AUC of 13,496 dashes is
// 0.504.
func TestPathfinderBrightness(t *testing.T) {
	var levels, traced []float64
	imagesByRemaining, complete := map[int]int{}, 0
	n := drawImages(t, 13, 24, LRAPathfinder, func(n int, e seq.Example) {
		marks, ok := readMarks(e.A)
		if !ok {
			t.Fatalf("image %d does not have two marks", n)
		}
		tracer := newTracer(e.A, marks)
		best := tracer.search()
		var used uint64
		for _, contour := range best[predictLabel(best)].contours {
			for _, i := range contour.path[:contour.n] {
				used |= tracer.dashes[i].bits
			}
		}
		remaining := 0
		for _, d := range tracer.dashes {
			if d.mark >= 0 || d.dash[0] == marks[0] || d.dash[0] == marks[1] ||
				d.dash[1] == marks[0] || d.dash[1] == marks[1] {
				continue
			}
			isTraced := 0.
			if d.bits&used != 0 {
				isTraced = 1
			} else {
				remaining++
			}
			level := max(e.A[d.dash[0].index()], e.A[d.dash[1].index()])
			if level < 255 {
				levels, traced = append(levels, float64(level)), append(traced, isTraced)
			}
		}
		imagesByRemaining[remaining]++
		if remaining == 5*(contourDashes/3) {
			complete++
		}
	})
	auc := rocAUC(levels, traced)
	t.Logf("brightness of %d dashes: AUC %.4f for being traced; images by remaining dashes: %v", len(levels),
		auc, imagesByRemaining)
	if math.Abs(auc-0.5) > 0.06 {
		t.Errorf("brightness distinguishes contours from distractors: AUC %.3f, want 0.5 ± 0.06", auc)
	}
	if 2*complete < n {
		t.Errorf("%d of %d images have five distractors of four dashes, want at least half: %v", complete, n,
			imagesByRemaining)
	}
}

// rocAUC returns the area under the ROC curve (Mann-Whitney): the probability that a value with
// label 1 is larger than a value with label 0. Ties count half.
func rocAUC(values, labels []float64) float64 {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(values[a], values[b]) })
	ones, ranks := 0., 0.
	for i := 0; i < len(order); {
		j := i
		for j < len(order) && values[order[j]] == values[order[i]] {
			j++
		}
		for _, k := range order[i:j] {
			if labels[k] == 1 {
				ones++
				ranks += float64(i+1+j) / 2
			}
		}
		i = j
	}
	zeros := float64(len(order)) - ones
	return (ranks - ones*(ones+1)/2) / (ones * zeros)
}
