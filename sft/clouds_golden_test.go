package sft

import (
	"encoding/json"
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
)

// cloudFolders are of models of point clouds: the logits and the gradient of one that reads
// positions, normals and one more number, and training steps of one that
// reads positions alone; and the same of models that take the maximum of each channel over a
// sample of the points, which training draws with noise.
var cloudFolders = map[string]func(c *Config){
	"clouds":       func(c *Config) { c.NumLayers, c.NumSampledTokens = 2, 7 },
	"train_clouds": func(c *Config) { c.NormPosition, c.FeatureNames = "post", seq.PositionNames },
	"max_pooling":  func(c *Config) { c.NumSampledTokens, c.Pooling, c.PoolingSamples = 7, MaxPooling, 11 },
	"train_max_pooling": func(c *Config) {
		c.NormPosition, c.FeatureNames, c.Pooling, c.PoolingSamples = "post", seq.PositionNames, MaxPooling, 11
	},
}

// cloudConfig makes a configuration one of point clouds.
func cloudConfig(c *Config) *Config {
	c.VocabSize, c.PadTokenID, c.Relative, c.Tokenizer = 0, nil, DistanceRelation, featureTokenizer
	c.FeatureNames = slices.Concat([]string{"heat"}, seq.NormalNames, seq.PositionNames)
	return c
}

// randomClouds are clouds of a configuration, within a radius of about 1, with unit normals.
func randomClouds(c *Config, random *rand.Rand, lengths ...int) (out []seq.Example) {
	for i, n := range lengths {
		e := seq.Example{Index: uint32(i), Label: int32(i % c.NumLabels)}
		for range n {
			row := make([]float32, len(c.FeatureNames))
			for j := range row {
				row[j] = float32(0.5 * random.NormFloat64())
			}
			if at := slices.Index(c.FeatureNames, "nx"); at >= 0 {
				norm := math.Sqrt(float64(row[at]*row[at] + row[at+1]*row[at+1] + row[at+2]*row[at+2]))
				for j := range 3 {
					row[at+j] = float32(float64(row[at+j]) / norm)
				}
			}
			e.Features = append(e.Features, row)
		}
		out = append(out, e)
	}
	return out
}

// writeClouds writes a golden folder with what the reference computes in float64.
func writeClouds(t *testing.T, dir string, change func(c *Config)) {
	c := cloudConfig(goldenConfig(Classification))
	change(c)
	// Of these clouds no channel has, in the first step, queries that are all above all keys: what
	// rounding leaves of that channel's gradient in attn.k, which is 0, AdamW would make a step of.
	writeGolden(t, dir, c, randomClouds(c, rand.New(rand.NewPCG(10, 1)), 1, 5, 16, 40, 27),
		reference.classificationLoss)
}

// classificationLoss is the mean cross-entropy of examples, and their number.
func (r reference) classificationLoss(examples []seq.Example) (mean float64, terms int) {
	for _, e := range examples {
		r.row = e.Index
		logits, _ := r.example(e)
		sum := 0.0
		for _, v := range logits {
			sum += math.Exp(v)
		}
		mean += math.Log(sum) - logits[e.Label]
	}
	return mean / float64(len(examples)), len(examples)
}

// input is what the input layer reads of a token.
func (r reference) input(row []float32) (x []float64) {
	if r.Input == OnesInput {
		return []float64{1}
	}
	for _, v := range row {
		x = append(x, float64(v))
	}
	return x
}

// distanceBias is Rmul and Radd of a query and a duplet, from the distances of points and the
// products of their normals.
func (r reference) distanceBias(name string, head, i int, s duplet) (mul, add float64) {
	at := func(token int, feature string) float64 {
		return float64(r.features[token][slices.Index(r.FeatureNames, feature)])
	}
	linear := func(kind string, t int) float64 {
		w := r.weights[name+"attn."+kind+".weight"]
		n := len(w) / r.NumHeads
		square, normals := 0.0, 0.0
		for c := range 3 {
			d := at(i, seq.PositionNames[c]) - at(t, seq.PositionNames[c])
			square += d * d
			if n == 2 {
				normals += at(i, seq.NormalNames[c]) * at(t, seq.NormalNames[c])
			}
		}
		z := r.weights[name+"attn."+kind+".bias"][head] + w[head*n]*square
		if n == 2 {
			z += w[head*n+1] * normals
		}
		return z
	}
	mul, add = s.p*softplus64(linear("rel_mul", s.top)), s.p*linear("rel_add", s.top)
	if s.partner >= 0 {
		mul += (1 - s.p) * softplus64(linear("rel_mul", s.partner))
		add += (1 - s.p) * linear("rel_add", s.partner)
	}
	return mul, add
}

// movedClouds are clouds with moved points and normals, in another order where that is given.
func movedClouds(c *Config, clouds []seq.Example, move func(v []float32, direction bool),
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

// TestCloudsOfOnes: a model that knows nothing but distances and normals has the reference's logits.
func TestCloudsOfOnes(t *testing.T) {
	c := cloudConfig(goldenConfig(Classification))
	c.Input, c.NumLayers, c.NumSampledTokens = OnesInput, 2, 9
	m := randomModel(c, 12)
	clouds := randomClouds(c, rand.New(rand.NewPCG(3, 3)), 1, 12, 50)
	for i, logits := range scoreAll(t, m, clouds) {
		want, _ := newReference(m).example(clouds[i])
		for j, v := range logits {
			if !(math.Abs(float64(v)-want[j]) <= 1e-5) {
				t.Errorf("cloud %d: logit %v, expected %v", i, v, want[j])
			}
		}
	}
}

// scoreAll are the logits of examples.
func scoreAll(t *testing.T, m *Model, examples []seq.Example) (logits [][]float32) {
	t.Helper()
	out := must.Get(newTestScorer(t, m).Examples(t.Context(), examples))(t)
	for _, o := range out {
		logits = append(logits, o.Logits)
	}
	return logits
}

// TestCloudSymmetries: a model whose input is ones gives a cloud that is turned or moved the same
// answer, and so it does to points in another order where it samples all of them. Coordinates
// that are features, too, change the answer.
func TestCloudSymmetries(t *testing.T) {
	inOrder := func(n int) (out []int) {
		for i := range n {
			out = append(out, i)
		}
		return out
	}
	random := rand.New(rand.NewPCG(5, 5))
	stay := func([]float32, bool) {}
	sin, cos := math.Sincos(1.1)
	turn := func(v []float32, _ bool) {
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
		{"turned", OnesInput, 9, turn, inOrder, true},
		{"shifted", OnesInput, 9, shift, inOrder, true},
		{"in another order", OnesInput, 64, stay, random.Perm, true},
		{"in another order, with features", FeaturesInput, 64, stay, random.Perm, true},
		{"turned, with features", FeaturesInput, 9, turn, inOrder, false},
	} {
		c := cloudConfig(goldenConfig(Classification))
		c.Input, c.NumSampledTokens, c.NumLayers = s.input, s.k, 2
		m := randomModel(c, 11)
		clouds := randomClouds(c, random, 33, 64, 7)
		before, after := scoreAll(t, m, clouds), scoreAll(t, m, movedClouds(c, clouds, s.move, s.order))
		worst := 0.0
		for i := range before {
			for j, v := range before[i] {
				worst = max(worst, math.Abs(float64(v-after[i][j])))
			}
		}
		if (worst <= 1e-5) != s.same {
			t.Errorf("%s: logits differ by %.1e", s.name, worst)
		}
	}
}

// TestCloudRefusals: a model does not start from one of other features, does not train with
// tokens left out or replaced, and reads no features where its tokens have ids.
func TestCloudRefusals(t *testing.T) {
	c := cloudConfig(tinyConfig())
	m, swapped := randomModel(c, 1), *c
	swapped.FeatureNames = slices.Clone(c.FeatureNames)
	slices.Reverse(swapped.FeatureNames)
	_, copied := NewModel(&swapped, 2).CopyFrom(m)
	s, replaced := runSettings(), runSettings()
	s.TokenDeletion, s.TokenReplacement, replaced.TokenDeletion, replaced.TokenReplacement = 0.1, 0, 0, 0.1
	_, deletion := NewStepper(m, s, cpu.New(1), 9, 0)
	_, replacement := NewStepper(m, replaced, cpu.New(1), 9, 0)
	schema := (&seq.Spec{Task: Classification, FeatureNames: swapped.FeatureNames}).Schema()
	record, _ := must.Get2(array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader(`[]`)))(t)
	_, scored := newTestScorer(t, m).Score(t.Context(), record)
	for _, x := range []struct {
		err  error
		want string
	}{
		{scored, "the record's features are"}, {copied, `there, expected ["z"`}, {deletion, "cannot be left out"},
		{replacement, "cannot be left out"},
		{tinyConfig().CheckExample(seq.Example{A: []int32{1}, Features: [][]float32{{1}}}),
			"features, but the model reads tokens"},
	} {
		if x.err == nil || !strings.Contains(x.err.Error(), x.want) {
			t.Errorf("error %v, expected %q", x.err, x.want)
		}
	}
}

// TestCloudTags: the tokens that a batch of tagged clouds tells are those of its points.
func TestCloudTags(t *testing.T) {
	c := ofTask(tinyConfig(), Tagging)
	c.NumLabels = 3
	cloudConfig(c)
	clouds := randomClouds(c, rand.New(rand.NewPCG(4, 4)), 2, 3)
	clouds[0].Labels, clouds[1].Labels = []int32{1, seq.NoLabel}, []int32{seq.NoLabel, 0, 2}
	p := packOne(c, clouds, drawing{mode: lossMode})
	if !slices.Equal(p.targetRow, []int32{0, 3, 4}) || !slices.Equal(p.label, []int32{1, 0, 2}) {
		t.Errorf("tokens %v with labels %v", p.targetRow, p.label)
	}
}

// TestCloudConfig: what cannot be is refused with its key, and data describe their models.
func TestCloudConfig(t *testing.T) {
	for _, s := range []struct {
		change func(c *Config)
		want   string
	}{
		{func(c *Config) {}, ""},
		{func(c *Config) { c.Relative = NoRelation }, ""},
		{func(c *Config) { c.FeatureNames = []string{"x", "y"} },
			"relative: distance, expected another one: x, y, z are not all features"},
		{func(c *Config) { c.VocabSize = 5 }, "vocab_size: 5, expected 0"},
		{func(c *Config) { c.Input = "zeros" }, `input: "zeros", expected features, ones`},
		{func(c *Config) { c.Task = Retrieval }, `task: "retrieval", expected one of a sequence`},
		{func(c *Config) { *c = *tinyConfig(); c.Input = OnesInput }, "input: \"ones\", expected none"},
		{func(c *Config) { *c = *tinyConfig(); c.Relative = DistanceRelation },
			"relative: distance, expected another one"},
	} {
		c := cloudConfig(tinyConfig())
		s.change(c)
		got := ""
		if err := c.Validate(); err != nil {
			got = err.Error()
		}
		if (s.want == "") != (got == "") || len(got) < len(s.want) || got[:len(s.want)] != s.want {
			t.Errorf("%s, expected %s", got, s.want)
		}
	}
	c := tinyConfig()
	c.Task = ""
	err := c.DescribeData(seq.Spec{Task: Classification, LabelNames: []string{"a", "b"},
		FeatureNames: []string{"x", "y", "z"}})
	if err != nil || c.Relative != DistanceRelation || c.VocabSize != 0 || !c.Featured() {
		t.Errorf("%+v, %v", c, err)
	}
	text := must.Get(json.Marshal(c))(t)
	if again, err := ParseConfig(text); err != nil || !slices.Equal(again.FeatureNames, c.FeatureNames) {
		t.Errorf("%+v, %v", again, err)
	}
}
