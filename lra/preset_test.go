package lra

import (
	"slices"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/train"
)

// TestSetSchedule checks the parameters of the schedule and their validity after every change of
// schedule. Setting the same schedule must change nothing.
func TestSetSchedule(t *testing.T) {
	settings := func(schedule string) train.Settings {
		s := paperSettings(3, 4, 0.01)
		s.StepSize, s.DecayRate = 3, 0.7
		if schedule != "step" {
			s.Schedule, s.StepSize, s.DecayRate, s.FinalRate = schedule, 0, 0, 0.2
		}
		return s
	}
	for _, from := range train.Schedules {
		for _, to := range train.Schedules {
			s, before := settings(from), settings(from)
			SetSchedule(&s, to)
			wantStep, wantDecay, wantFinal := before.StepSize, before.DecayRate, before.FinalRate
			switch {
			case to != "step":
				wantStep, wantDecay = 0, 0
			case from != "step":
				wantStep, wantDecay, wantFinal = 20, 0.9, 0
			}
			if to == "exponential" && from == "step" { // an exponential decay cannot end at 0
				wantFinal = 0.1
			}
			name := to
			if to == "step" {
				name = ""
			}
			if s.Schedule != name || s.StepSize != wantStep || s.DecayRate != wantDecay ||
				s.FinalRate != wantFinal || s.Validate() != nil {
				t.Errorf("from %s to %s: got schedule %q, step size %v, decay rate %v, final rate %v, error %v; "+
					"want %q, %v, %v, %v, no error", from, to, s.Schedule, s.StepSize, s.DecayRate, s.FinalRate,
					s.Validate(), name, wantStep, wantDecay, wantFinal)
			}
		}
	}
}

// unpublishedTasks maps each task without a published configuration to its last preset.
var unpublishedTasks = map[string]string{"shapes": "quick", "shape-parts": "quick"}

// TestPresets checks that every preset has a valid model for its task and a valid run, whose stages
// do not end after the run. No two data sets have the same name.
func TestPresets(t *testing.T) {
	dataNames := map[string]bool{}
	for _, name := range Names() {
		task := must.Get(Lookup(name))(t)
		spec := must.Get(task.Spec())(t)
		var names []string
		for _, p := range task.Presets {
			names = append(names, p.Name)
			c := p.Config
			must.Check(t, c.DescribeData(spec), name, p.Name)
			must.Check(t, p.Settings.Validate(), name, p.Name)
			steps := p.Settings.Steps
			if steps == 0 {
				steps = p.Settings.Epochs * p.Data.Train / p.Settings.Batch
			}
			for _, stage := range p.Settings.Stages {
				if steps -= stage.Steps; steps < 0 {
					t.Errorf("%s %s: the stages have %d steps more than the run, want no more", name, p.Name,
						-steps)
				}
			}
			if p.DataName != "" && dataNames[p.DataName] {
				t.Errorf("%s %s: another preset has a data set with the same name %s", name, p.Name, p.DataName)
			}
			dataNames[p.DataName] = true
			if p.Description == "" || (p.DataName == "") != (p.Data.Train == 0) {
				t.Errorf("%s %s: no description, or only one of DataName and Data.Train in %+v", name, p.Name, p)
			}
		}
		last := "paper"
		if unpublished, ok := unpublishedTasks[name]; ok {
			last = unpublished
		}
		if names[0] != "quick" || names[len(names)-1] != last ||
			len(slices.Compact(slices.Sorted(slices.Values(names)))) != len(names) {
			t.Errorf("%s: presets %v, want unique names from quick to %s", name, names, last)
		}
	}
}

// TestPathfinderStages checks that the stages of the presets for the hardest split end where the next
// length of contours begins, and that each epoch draws new images.
func TestPathfinderStages(t *testing.T) {
	for _, p := range []*Preset{pathfinderNight, pathfinderGPU} {
		rule, rows := p.Data.Rule.(*PathfinderRule), p.Data.Train
		for i, s := range p.Settings.Stages {
			first, last := rule.ruleForRow(0, rows), rule.ruleForRow(s.Rows-1, rows)
			if want := []int{3, 5, 7, 10, 14, 14}[i]; i == 5 {
				first, last = rule.ruleForRow(rows-s.LastRows, rows), rule.ruleForRow(rows-1, rows)
				if before := rule.ruleForRow(rows-s.LastRows-1, rows); before.Contour == want {
					t.Errorf("%s: the row before the last stage has a contour of %d dashes, want fewer: the last "+
						"stage contains all rows with this number", p.Name, want)
				}
				if first.Contour != want || last.Contour != want {
					t.Errorf("%s: the last stage has contours of %d to %d dashes, want only %d", p.Name,
						first.Contour, last.Contour, want)
				}
			} else if next := rule.ruleForRow(min(s.Rows, rows-1), rows); first.Contour != 1 || last.Contour != want ||
				want < 14 && next.Contour != want+1 {
				t.Errorf("%s: stage %d has contours of %d to %d dashes, followed by %d; want 1 to %d, followed by %d",
					p.Name, i+1, first.Contour, last.Contour, next.Contour, want, min(want+1, 14))
			}
		}
		if !p.Settings.Fresh || *rule != (PathfinderRule{Contour: 14, Distractors: 5, Shortest: 1}) {
			t.Errorf("%s: fresh %v, rule %+v; want true and contours of 1 to 14 dashes among 5 distractors", p.Name,
				p.Settings.Fresh, *rule)
		}
	}
}

// TestPathfinderConvolutionsReach checks that the convolutions of a layer reach three pixels in each
// direction: along the row, the column and the diagonals.
func TestPathfinderConvolutionsReach(t *testing.T) {
	read := map[int]bool{}
	for _, c := range pathfinderQuick.Config.Convolutions {
		for tap := -(c.KernelSize / 2); tap <= c.KernelSize/2; tap++ {
			read[tap*c.Dilation] = true
		}
	}
	for _, direction := range [][2]int{{0, 1}, {1, 0}, {1, 1}, {1, -1}} { // down, right
		for n := -3; n <= 3; n++ {
			if token := n * (32*direction[0] + direction[1]); !read[token] {
				t.Errorf("the pixel %d down and %d right is not read", n*direction[0], n*direction[1])
			}
		}
	}
}

// TestPaperPresets checks that the published presets of clouds and graphs equal the paper's table.
func TestPaperPresets(t *testing.T) {
	for _, c := range []struct {
		task, preset              string
		epochs                    int
		rate, weightDecay         float64
		sampled                   int
		dropToken                 float64
		hidden, layers            int
		embedding, decay, maxNorm float64
		input, rotation           string
		cloud                     bool
	}{
		{"modelnet40", "paper", 600, 1e-3, .1, 256, .5, 256, 8, .1, .8, 1, "", "", true},
		{"shapenetpart", "paper", 600, 1e-3, .1, 256, .2, 256, 8, .1, .8, 1, "", "", true},
		{"modelnet40", "paper-invariant", 1000, 1e-3, .1, 256, .5, 256, 8, .1, .8, 1, "ones", "z", true},
		{"shapenetpart", "paper-invariant", 1000, 1e-3, .1, 256, .2, 256, 8, .1, .8, 1, "ones", "z", true},
		{"peptides-func", "paper", 600, 8e-4, .17, 75, .3, 144, 4, 0, .8, 16, "", "", false},
		{"peptides-struct", "paper", 600, 3e-4, .12, 75, .3, 144, 4, 0, .8, 16, "", "", false},
		{"pascalvoc-sp", "paper", 600, 1e-3, .1, 150, .3, 160, 4, 0, .9, 1, "", "", false},
	} {
		task := must.Get(Lookup(c.task))(t)
		preset := must.Get(task.Preset(c.preset))(t)
		m, s := preset.Config, preset.Settings
		if s.Epochs != c.epochs || s.LearningRate != c.rate || s.WeightDecay != c.weightDecay || s.Batch != 32 ||
			s.StepSize != 30 || s.DecayRate != c.decay || s.MaxGradNorm != c.maxNorm || s.PointRotation != c.rotation {
			t.Errorf("%s %s: settings %+v, want %+v", c.task, c.preset, s, c)
		}
		if want := []float64{.6, 1.4}; slices.Equal(s.PointScale, want) != c.cloud || s.PointShift != 0 ||
			s.Schedule != "" || s.Steps != 0 {
			t.Errorf("%s %s: settings %+v, want the point scale %v only for clouds, no shift, schedule or steps",
				c.task,
				c.preset, s, want)
		}
		if m.NumSampledTokens != c.sampled || m.DropToken != c.dropToken || m.HiddenSize != c.hidden ||
			m.NumLayers != c.layers || m.NumHeads != 16 || m.IntermediateSize != 4*c.hidden ||
			m.AttentionDropout != .1 || m.FeedForward != .2 || m.EmbeddingDropout != c.embedding ||
			m.NormPosition != "post" || m.Input != c.input || m.Score != "maxout" {
			t.Errorf("%s %s: model %+v differs from the paper", c.task, c.preset, m)
		}
		if published := c.task == "modelnet40"; (m.Pooling == config.MaxPooling) != published ||
			(m.PoolingSamples == 512) != published {
			t.Errorf("%s %s: pooling %q of %d, want the maximum of 512 only for modelnet40", c.task, c.preset,
				m.Pooling,
				m.PoolingSamples)
		}
		spec := must.Get(task.Spec())(t)
		if err := m.DescribeData(spec); err != nil || m.RegressionLoss != "" {
			t.Errorf("%s %s: regression loss %q, want none; error %v", c.task, c.preset, m.RegressionLoss, err)
		}
		if relation := map[bool]string{true: config.DistanceRelation,
			false: config.EdgeRelation}[c.cloud]; m.Relative != relation {
			t.Errorf("%s %s: relation %s, want %s", c.task, c.preset, m.Relative, relation)
		}
	}
}

// TestFilesPresets checks that the presets of Files are valid for classification data with labels of
// their own, and that multi-label data do not match.
func TestFilesPresets(t *testing.T) {
	spec := must.Get(Files.Spec())(t)
	spec.LabelNames = []string{"go", "png"}
	if !Files.Matches(&spec) {
		t.Errorf("%+v are not data of %s", spec, Files.Name)
	}
	for _, p := range Files.Presets {
		c := p.Config
		must.Check(t, c.DescribeData(spec), p.Name)
		must.Check(t, c.Validate(), p.Name)
		must.Check(t, p.Settings.Validate(), p.Name)
	}
	spec.Task = seq.MultiLabel
	if Files.Matches(&spec) {
		t.Error("rows with several labels are accepted as data of files")
	}
}
