package model

import (
	"math/bits"
	"slices"

	"github.com/sftseq/sftseq/internal/philox"
	"github.com/sftseq/sftseq/internal/tensor"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/config"
)

// addFeatures adds the features of all tokens for the input layer and for the relation, with this
// number of threads.
func (p *packed) addFeatures(c *config.Config, examples []seq.Example, threads int) {
	if !c.HasFeatures() {
		return
	}
	var columns []int // columns of positions and normals
	if c.Relative == config.DistanceRelation {
		columns = seq.Points(c.FeatureNames)
	}
	tokens := len(p.position)
	p.features, p.points = resize(p.features, tokens*inputWidth(c)), resize(p.points, tokens*len(columns))
	InParallel(threads, len(examples),
		func(_, i int) { p.setFeatures(c, columns, examples[i].Features, int(p.offset[i])) })
	if c.Relative == config.EdgeRelation {
		p.edges.pack(examples, p.offset, len(c.EdgeFeatureNames), threads)
	}
}

// setFeatures sets the features of an example. The parameter from is the row of its first token.
func (p *packed) setFeatures(c *config.Config, columns []int, features [][]float32, from int) {
	width := inputWidth(c)
	inputs, points := p.features[from*width:][:len(features)*width],
		p.points[from*len(columns):][:len(features)*len(columns)]
	for t, row := range features {
		if input := inputs[t*width:][:width]; c.Input == config.OnesInput {
			input[0] = 1
		} else if c.FeatureScales == nil {
			copy(input, row)
		} else {
			for j, x := range row {
				input[j] = c.ScaledFeature(j, x)
			}
		}
		point := points[t*len(columns):][:len(columns)]
		for i, column := range columns {
			point[i] = row[column]
		}
	}
}

// packed is the input of a pass: the rows of all sequences of a batch, concatenated without
// padding.
type packed struct {
	stage                      stage
	counts                     tensor.Counts
	tokens, position, sequence []int32
	features, points           []float32 // see recordedPass.Features
	weighted                   []float32 // see recordedPass
	contexts                   []float32 // see recordedPass.contextsInput
	edges                      packedEdges
	ngrams                     packedNGrams
	offset, sampleOffset       []int32
	poolOffset                 []int32 // first sampled row of each sequence in the pooling, or in the exports of chunks
	example, tower             []uint32
	label                      []int32 // label of each loss
	// target holds, per example with a loss, the standardised numbers of a regression, or 1 for
	// each positive label and 0 for each other label.
	target              []float32
	losses              []int            // index of the first loss of each example, and the number of losses
	targetRow, targetOf []int32          // see recordedPass
	fills               bool             // the targets are the mask tokens of the input
	sources             [][]*chunkSource // sources of each document's chunks, in the document stage
}

// reset empties a batch, keeps its memory and begins a batch of a stage.
func (p *packed) reset(s stage, d Drawing) {
	first := func(x []int32) []int32 { return append(x[:0], 0) }
	*p = packed{
		stage: s, fills: d.Mode == FillMode,
		tokens: p.tokens[:0], position: p.position[:0], sequence: p.sequence[:0],
		features: p.features[:0], points: p.points[:0], weighted: p.weighted[:0], contexts: p.contexts[:0],
		edges: p.edges, ngrams: p.ngrams,
		offset: first(p.offset), sampleOffset: first(p.sampleOffset), poolOffset: first(p.poolOffset),
		example: p.example[:0], tower: p.tower[:0], label: p.label[:0], target: p.target[:0],
		losses: append(p.losses[:0], 0), targetRow: p.targetRow[:0], targetOf: p.targetOf[:0],
		sources: p.sources[:0],
	}
	p.ngrams.features = p.ngrams.features[:0]
	p.edges.first, p.edges.source, p.edges.features = p.edges.first[:0], p.edges.source[:0], p.edges.features[:0]
}

// resize returns a slice of n undefined values in the memory of x if it is large enough.
func resize[T any](x []T, n int) []T { return slices.Grow(x[:0], n)[:n] }

// pack fills the batch with examples of one or two sequences, with this number of threads. In
// training, a sequence's random numbers depend on its example and its side of a pair. Otherwise every
// sequence has the random numbers of example 0, so that its result does not depend on its row or side. Only the
// masking for a loss depends on the row in every mode.
func (p *packed) pack(c *config.Config, sequences int, examples []seq.Example, d Drawing, threads int) {
	p.reset(wholeModel, d)
	for _, e := range examples {
		p.add(c, p.addLabels(c, e, d), e.First(), e.Index, 0, d)
		if sequences == 2 {
			p.add(c, e.B, len(e.B), e.Index, 1, d)
		}
		p.losses = append(p.losses, len(p.label))
	}
	p.addFeatures(c, examples, threads)
	p.finish(len(examples))
}

// addLabels adds the labels of an example and returns the tokens that the model reads for its first
// sequence. The caller must call it before it adds the example's sequences.
func (p *packed) addLabels(c *config.Config, e seq.Example, d Drawing) (tokens []int32) {
	if o, ok := objectiveOf(c).(tokenObjective); ok {
		input, labels := o.targets(c, e, d)
		p.addTargets(labels)
		return input
	}
	if d.Mode.loss() {
		p.target = append(p.target, c.LossTargets(e)...)
	}
	p.label = append(p.label, e.Label)
	return e.A
}

// addTargets adds the labelled tokens of the next sequence as targets.
func (p *packed) addTargets(labels []int32) {
	from := int32(len(p.position))
	for t, label := range labels {
		if label == seq.NoLabel {
			p.targetOf = append(p.targetOf, tensor.NoRow)
			continue
		}
		p.targetOf = append(p.targetOf, int32(len(p.targetRow)))
		p.targetRow = append(p.targetRow, from+int32(t))
		p.label = append(p.label, label)
	}
}

// add adds a sequence of n tokens.
func (p *packed) add(c *config.Config, tokens []int32, n int, index, tower uint32, d Drawing) {
	if d.Mode != TrainMode {
		index, tower = 0, 0
	}
	b, from := int32(len(p.example)), len(p.position)
	p.position, p.sequence = slices.Grow(p.position, n)[:from+n], slices.Grow(p.sequence, n)[:from+n]
	position, sequence := p.position[from:], p.sequence[from:]
	for i := range position {
		position[i] = int32(i)
	}
	for i := range sequence {
		sequence[i] = b
	}
	p.tokens = append(p.tokens, tokens...)
	dropout := 0.0
	if c.NGrams != nil && d.Mode == TrainMode {
		dropout = c.NGrams.Dropout
	}
	p.ngrams.add(tokens, dropout, d.Seed, philox.Counter(0, tower, 0, philox.StreamNGrams, index, d.Step))
	p.offset = append(p.offset, int32(len(p.position)))
	p.sampleOffset = append(p.sampleOffset, p.sampleOffset[b]+int32(min(c.NumSampledTokens, n)))
	p.poolOffset = append(p.poolOffset, p.poolOffset[b]+int32(min(p.stage.poolingSamples(c), n)))
	p.example = append(p.example, index)
	p.tower = append(p.tower, tower)
	p.counts.Longest = max(p.counts.Longest, int32(n))
}

// finish counts the rows of a batch of this number of examples.
func (p *packed) finish(examples int) {
	p.ngrams.close()
	p.counts.Tokens = int32(len(p.position))
	p.counts.Sequences = int32(len(p.example))
	p.counts.Sampled = p.sampleOffset[len(p.example)]
	p.counts.Pooled = p.poolOffset[len(p.example)]
	p.counts.Examples = int32(examples)
	p.counts.Targets = int32(len(p.targetRow))
}

// sums returns the sum of the losses of each example.
func (p *packed) sums(losses []float32) []float32 {
	out := make([]float32, p.counts.Examples)
	for i := range out {
		sum := 0.0
		for _, v := range losses[p.losses[i]:p.losses[i+1]] {
			sum += float64(v)
		}
		out[i] = float32(sum)
	}
	return out
}

// shape returns the capacity of the program for the batch: its size rounded up, so that batches of
// similar size share a program.
func (p *packed) shape(c *config.Config) passShape {
	s := p.stage.shapeFor(c, int(p.counts.Tokens), int(p.counts.Sequences), int(p.counts.Sampled), len(p.edges.source))
	if p.fills {
		s.Masks = min(s.Tokens, bucket(int(p.counts.Targets)))
		return s
	}
	for int(p.counts.Targets) > p.stage.targetCapacity(c, s.Tokens, s.Sequences) {
		s.Tokens = bucket(s.Tokens + 1)
	}
	return s
}

// shapeFor returns the shape of a pass with room for these numbers of rows.
func (s stage) shapeFor(c *config.Config, tokens, sequences, sampled, edges int) passShape {
	sequences = max(s.sequences(c), 1<<bits.Len(uint(sequences-1)))
	return passShape{stage: s, Tokens: bucket(tokens), Sequences: sequences, Sampled: bucket(sampled),
		Edges: edgeCapacity(c, edges)}
}

// edgeCapacity returns a pass's capacity for this number of edges, 0 unless the relation is edges.
func edgeCapacity(c *config.Config, edges int) int {
	if c.Relative != config.EdgeRelation {
		return 0
	}
	return bucket(max(1, edges))
}

// bucket rounds n up to one of eight sizes between two powers of two, and to a multiple of 64.
func bucket(n int) int {
	step := max(64, 1<<max(0, bits.Len(uint(n))-4))
	return (n + step - 1) / step * step
}

// upload writes the batch to the inputs of a pass.
func (p *packed) upload(pass *recordedPass, m tensor.Memory, d Drawing) error {
	b := pass.Batch
	random := []uint32{uint32(d.Seed), uint32(d.Seed >> 32), d.Step}
	write := func(err error, t *tensor.Tensor, x []int32) error {
		if err != nil {
			return err
		}
		return tensor.Upload(m, t, x)
	}
	err := write(nil, pass.Program.Counts, p.counts.Words())
	err = write(err, b.Tokens, p.tokens)
	err = write(err, b.Position, p.position)
	err = write(err, b.Sequence, p.sequence)
	err = write(err, b.Offset, p.offset)
	err = write(err, b.SampleOffset, p.sampleOffset)
	err = write(err, b.Example, tensor.As[int32](p.example))
	err = write(err, b.Tower, tensor.As[int32](p.tower))
	err = write(err, b.Random, tensor.As[int32](random))
	for _, input := range []struct {
		t *tensor.Tensor
		x []int32
	}{{pass.Label, p.label}, {pass.TargetRow, p.targetRow}, {pass.TargetOf, p.targetOf},
		{pass.PoolOffset, p.poolOffset}, {pass.exportOffset(), p.poolOffset}} {
		if input.t != nil {
			err = write(err, input.t, input.x)
		}
	}
	if pass.Features != nil && err == nil {
		err = tensor.Upload(m, pass.Features, p.features)
	}
	if pass.Weighted != nil && err == nil {
		err = tensor.Upload(m, pass.Weighted, p.weighted)
	}
	if x := pass.contextsInput(); x != nil && err == nil {
		err = tensor.Upload(m, x, p.contexts)
	}
	if pass.Points != nil && err == nil {
		err = tensor.Upload(m, pass.Points, p.points)
	}
	if pass.Edges != nil && err == nil {
		err = pass.Edges.upload(&p.edges, m)
	}
	if pass.NGrams != nil && err == nil {
		err = pass.NGrams.upload(&p.ngrams, m)
	}
	if pass.Target != nil && err == nil {
		err = tensor.Upload(m, pass.Target, p.target)
	}
	if pass.explained != nil && err == nil {
		err = pass.explained.upload(p, m)
	}
	return err
}
