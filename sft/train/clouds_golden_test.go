package train

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sftseq/sftseq/internal/cpu"
	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/configtest"
	"github.com/sftseq/sftseq/sft/internal/modeltest"
)

// cloudFolders lists the golden folders of point-cloud models. "clouds" and "max_pooling" hold
// logits and gradients; the "train_" folders hold training steps. The max-pooling models take each
// channel's maximum over a sample of the points, which training draws with noise.
var cloudFolders = map[string]func(c *config.Config){
	"clouds":       func(c *config.Config) { c.NumLayers, c.NumSampledTokens = 2, 7 },
	"train_clouds": func(c *config.Config) { c.NormPosition, c.FeatureNames = "post", seq.PositionNames },
	"max_pooling": func(c *config.Config) {
		c.NumSampledTokens, c.Pooling,
			c.PoolingSamples = 7, config.MaxPooling, 11
	},
	"train_max_pooling": func(c *config.Config) {
		c.NormPosition, c.FeatureNames, c.Pooling, c.PoolingSamples = "post", seq.PositionNames, config.MaxPooling, 11
	},
}

// writeClouds writes a golden folder with results of the float64 reference.
func writeClouds(t *testing.T, dir string, change func(c *config.Config)) {
	c := configtest.CloudConfig(configtest.GoldenConfig(config.Classification))
	change(c)
	// These clouds avoid channels whose queries all exceed all keys in the first step. Such a channel
	// has a gradient of 0 in attn.k, and AdamW would amplify the rounding error to a full step.
	writeGolden(t, dir, c, configtest.RandomClouds(c, rand.New(rand.NewPCG(10, 1)), 1, 5, 16, 40, 27),
		modeltest.Reference.ClassificationLoss)
}

// transformClouds returns the clouds with points and normals transformed by move, where direction is
// true for normals. order returns the old index of each of n points.
func transformClouds(c *config.Config, clouds []seq.Example, move func(v []float32, direction bool),
	order func(n int) []int) (out []seq.Example) {
	columns := seq.Points(c.FeatureNames)
	for _, e := range clouds {
		var rows [][]float32
		for _, i := range order(len(e.Features)) {
			row := slices.Clone(e.Features[i])
			for g := 0; g < len(columns); g += 3 {
				v := []float32{row[columns[g]], row[columns[g+1]], row[columns[g+2]]}
				move(v, g > 0)
				for j, x := range v {
					row[columns[g+j]] = x
				}
			}
			rows = append(rows, row)
		}
		e.Features = rows
		out = append(out, e)
	}
	return out
}

// TestCloudsOfOnes compares a model with the input "ones", which uses points and normals only in its
// attention scores, with the reference.
func TestCloudsOfOnes(t *testing.T) {
	c := configtest.CloudConfig(configtest.GoldenConfig(config.Classification))
	c.Input, c.NumLayers, c.NumSampledTokens = config.OnesInput, 2, 9
	m := modeltest.RandomModel(c, 12)
	clouds := configtest.RandomClouds(c, rand.New(rand.NewPCG(3, 3)), 1, 12, 50)
	for i, logits := range scoreAll(t, m, clouds) {
		want, _ := modeltest.NewReference(m).Example(clouds[i])
		for j, v := range logits {
			if !(math.Abs(float64(v)-want[j]) <= 1e-5) {
				t.Errorf("cloud %d: logit %v, expected %v", i, v, want[j])
			}
		}
	}
}

// TestCloudSymmetries checks that a model with the input "ones" is invariant to rotation and
// translation, and, if it samples all points, to their order. A model that also reads coordinates
// as features is invariant to the order of the points, but not to rotation.
func TestCloudSymmetries(t *testing.T) {
	inOrder := func(n int) (out []int) {
		for i := range n {
			out = append(out, i)
		}
		return out
	}
	random := rand.New(rand.NewPCG(5, 5))
	identity := func([]float32, bool) {}
	sin, cos := math.Sincos(1.1)
	rotate := func(v []float32, _ bool) {
		x, y, z := float64(v[0]), float64(v[1]), float64(v[2])
		x, y = cos*x-sin*y, sin*x+cos*y
		y, z = cos*y-sin*z, sin*y+cos*z
		v[0], v[1], v[2] = float32(x), float32(y), float32(z)
	}
	shift := func(v []float32, direction bool) {
		if !direction {
			v[0], v[1], v[2] = v[0]+0.5, v[1]-0.25, v[2]+1
		}
	}
	for _, s := range []struct {
		name  string
		input string
		k     int
		move  func([]float32, bool)
		order func(int) []int
		same  bool
	}{
		{"rotated", config.OnesInput, 9, rotate, inOrder, true},
		{"shifted", config.OnesInput, 9, shift, inOrder, true},
		{"in another order", config.OnesInput, 64, identity, random.Perm, true},
		{"in another order, with features", config.FeaturesInput, 64, identity, random.Perm, true},
		{"rotated, with features", config.FeaturesInput, 9, rotate, inOrder, false},
	} {
		c := configtest.CloudConfig(configtest.GoldenConfig(config.Classification))
		c.Input, c.NumSampledTokens, c.NumLayers = s.input, s.k, 2
		m := modeltest.RandomModel(c, 11)
		clouds := configtest.RandomClouds(c, random, 33, 64, 7)
		before, after := scoreAll(t, m, clouds),
			scoreAll(t, m, transformClouds(c, clouds, s.move, s.order))
		worst := 0.0
		for i := range before {
			for j, v := range before[i] {
				worst = max(worst, math.Abs(float64(v-after[i][j])))
			}
		}
		if (worst <= 1e-5) != s.same {
			t.Errorf("%s: logits differ by %.1e, want at most 1e-5: %t", s.name, worst, s.same)
		}
	}
}

// TestCloudRefusals checks the errors for records and initial models with different features, for token
// noise on points, and for features given to a model of token ids.
func TestCloudRefusals(t *testing.T) {
	c := configtest.CloudConfig(configtest.TinyConfig())
	m, swapped := modeltest.RandomModel(c, 1), *c
	swapped.FeatureNames = slices.Clone(c.FeatureNames)
	slices.Reverse(swapped.FeatureNames)
	_, copied := sft.NewModel(&swapped, 2).CopyFrom(m)
	s, replaced := runSettings(), runSettings()
	s.TokenDeletion, s.TokenReplacement, replaced.TokenDeletion, replaced.TokenReplacement = 0.1, 0, 0, 0.1
	_, deletion := NewStepper(m, s, cpu.New(1), 9, 0)
	_, replacement := NewStepper(m, replaced, cpu.New(1), 9, 0)
	schema := (&seq.Spec{Task: config.Classification, FeatureNames: swapped.FeatureNames}).Schema()
	record, _ := must.Get2(array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader(`[]`)))(t)
	_, scored := modeltest.NewTestScorer(t, m).Score(t.Context(), record)
	for _, x := range []struct {
		err  error
		want string
	}{
		{scored, "the record's features are"}, {copied, `the initial model has the features`}, {deletion, "must be 0 for tokens with features"},
		{replacement, "must be 0 for tokens with features"},
		{configtest.TinyConfig().CheckExample(seq.Example{A: []int32{1}, Features: [][]float32{{1}}}),
			"found features, but the model reads tokens"},
	} {
		if x.err == nil || !strings.Contains(x.err.Error(), x.want) {
			t.Errorf("error %v, expected %q", x.err, x.want)
		}
	}
}
