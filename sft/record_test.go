package sft_test

import (
	"context"
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/sft/internal/configtest"
	"github.com/sftseq/sftseq/sft/internal/modeltest"
)

// recordOf returns a record with the examples.
func recordOf(pair bool, examples []seq.Example) arrow.Record {
	fields := []arrow.Field{{Name: seq.ColumnTokens, Type: arrow.ListOf(arrow.PrimitiveTypes.Int32)}}
	if pair {
		fields = []arrow.Field{{Name: seq.ColumnTokensA, Type: fields[0].Type},
			{Name: seq.ColumnTokensB, Type: fields[0].Type}}
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema(fields, nil))
	for _, e := range examples {
		for i, tokens := range [][]int32{e.A, e.B}[:len(fields)] {
			b.Field(i).(*array.ListBuilder).Append(true)
			b.Field(i).(*array.ListBuilder).ValueBuilder().(*array.Int32Builder).AppendValues(tokens, nil)
		}
	}
	return b.NewRecord()
}

// vectorAt returns the vector in a row of the named column.
func vectorAt(t *testing.T, r arrow.Record, name string, row int) []float32 {
	t.Helper()
	list := r.Column(r.Schema().FieldIndices(name)[0]).(*array.FixedSizeList)
	from, to := list.ValueOffsets(row)
	return list.ListValues().(*array.Float32).Float32Values()[from:to]
}

func intAt(r arrow.Record, name string, row int) int {
	return int(r.Column(r.Schema().FieldIndices(name)[0]).(*array.Int32).Value(row))
}

// TestScore compares the results of records with those of examples, in several goroutines.
func TestScore(t *testing.T) {
	for _, name := range []string{"pre", "retrieval"} {
		m, examples := modeltest.LoadGolden(t, name)
		s, ctx := modeltest.NewTestScorer(t, m), context.Background()
		want := must.Get(s.Examples(ctx, examples))(t)
		record := recordOf(m.Config.Sequences() == 2, examples)
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				scores, err := s.Score(ctx, record)
				if err != nil {
					t.Error(err)
					return
				}
				embeddings, err := s.Embed(ctx, record)
				if err != nil {
					t.Error(err)
					return
				}
				for i, e := range examples {
					compareRow(t, i, e, want[i], scores, embeddings)
				}
			})
		}
		wg.Wait()
	}
}

func compareRow(t *testing.T, i int, e seq.Example, want sft.Output, scores, embeddings arrow.Record) {
	if got := vectorAt(t, scores, "logits", i); !reflect.DeepEqual(got, want.Logits) {
		t.Errorf("row %d: logits %v, want %v", i, got, want.Logits)
	}
	if got := vectorAt(t, scores, "probabilities", i); !reflect.DeepEqual(got, sft.Probabilities(want.Logits)) {
		t.Errorf("row %d: probabilities %v, want %v", i, got, sft.Probabilities(want.Logits))
	}
	if intAt(scores, "label", i) != sft.Argmax(want.Logits) || intAt(scores, "length", i) != e.Length() ||
		intAt(embeddings, "length", i) != e.Length() {
		t.Errorf("row %d: label %d, lengths %d and %d; want label %d, length %d", i, intAt(scores, "label", i),
			intAt(scores, "length", i), intAt(embeddings, "length", i), sft.Argmax(want.Logits), e.Length())
	}
	names := []string{"embedding"}
	if e.B != nil {
		names = []string{"embedding_a", "embedding_b"}
		if intAt(scores, "length_a", i) != len(e.A) || intAt(scores, "length_b", i) != len(e.B) {
			t.Errorf("row %d: length_a %d, length_b %d; want %d, %d", i, intAt(scores, "length_a", i),
				intAt(scores, "length_b", i), len(e.A), len(e.B))
		}
	}
	for j, name := range names {
		if got := vectorAt(t, embeddings, name, i); !reflect.DeepEqual(got, want.Embeddings[j]) {
			t.Errorf("row %d: %s %v, want %v", i, name, got, want.Embeddings[j])
		}
	}
}

func TestScoreRefuses(t *testing.T) {
	m, _ := modeltest.LoadGolden(t, "pre")
	s, ctx := modeltest.NewTestScorer(t, m), context.Background()
	_, err := s.Score(ctx, recordOf(false, []seq.Example{{A: []int32{1}}, {A: []int32{1, 99}}}))
	const want = "row 1: column tokens: token 99 at index 1"
	var row *sft.RowError
	if !errors.As(err, &row) || row.Row != 1 || !strings.Contains(err.Error(), want) {
		t.Errorf("invalid token: error %v of type %T, want a RowError of row 1 that contains %q", err, err, want)
	}
	must.Fail(t, "task is retrieval",
		"pair")(s.Score(ctx, recordOf(true, []seq.Example{{A: []int32{1}, B: []int32{1}}})))
	pairs, _ := modeltest.LoadGolden(t, "retrieval")
	const wrongTask = "the record's task is classification, the model's is retrieval"
	if _, err := modeltest.NewTestScorer(t, pairs).Score(ctx,
		recordOf(false, []seq.Example{{A: []int32{1}}})); err == nil || err.Error() != wrongTask {
		t.Errorf("single sequences for a model of pairs: error %v, want %s", err, wrongTask)
	}
	must.Fail(t, "row 0", "empty sequence")(s.Score(ctx, recordOf(false, []seq.Example{{}})))
	other := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema(nil, nil)).NewRecord()
	must.Fail(t, "column tokens is missing", "no column")(s.Score(ctx, other))
	stopped, cancel := context.WithCancel(ctx)
	cancel()
	must.FailWith(t, context.Canceled, "cancelled")(s.Score(stopped, recordOf(false, []seq.Example{{A: []int32{1}}})))
}

// TestScoreTruncates checks that a record's sequences are truncated to the maximum length, and that
// the columns report the lengths before and after truncation.
func TestScoreTruncates(t *testing.T) {
	m, _ := modeltest.LoadGolden(t, "retrieval")
	m.Config.MaxLength = 4
	m.Config.Truncate()
	s, ctx := modeltest.NewTestScorer(t, m), context.Background()
	long := seq.Example{A: []int32{3, 4, 5, 6, 7, 8}, B: []int32{9, 10}}
	got := must.Get(s.Score(ctx, recordOf(true, []seq.Example{long})))(t)
	want := must.Get(s.Examples(ctx, []seq.Example{{A: long.A[:4], B: long.B}}))(t)
	if !reflect.DeepEqual(vectorAt(t, got, "logits", 0), want[0].Logits) {
		t.Error("the logits differ from the logits of the first 4 tokens")
	}
	if intAt(got, "length", 0) != 8 || intAt(got, "length_a", 0) != 6 || intAt(got, "used", 0) != 6 {
		t.Errorf("lengths %d, %d, used %d; want 8, 6, 6", intAt(got, "length", 0), intAt(got, "length_a", 0),
			intAt(got, "used", 0))
	}
}

// TestEmbeddings checks that a sequence has the same embedding alone, with other sequences, and in
// a pair.
func TestEmbeddings(t *testing.T) {
	m, examples := modeltest.LoadGolden(t, "retrieval")
	s, ctx := modeltest.NewTestScorer(t, m), context.Background()
	pairs := must.Get(s.Examples(ctx, examples))(t)
	var sequences [][]int32
	var want [][]float32
	for i, e := range examples {
		sequences = append(sequences, e.A, e.B)
		want = append(want, pairs[i].Embeddings...)
	}
	got, err := s.Embeddings(ctx, sequences)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("the embeddings of a batch differ from the pairs' embeddings, error %v", err)
	}
	for i := range sequences {
		alone, err := s.Embeddings(ctx, sequences[i:i+1])
		if err != nil || !reflect.DeepEqual(alone, want[i:i+1]) {
			t.Errorf("the embedding of sequence %d alone differs, error %v", i, err)
		}
	}
	must.Fail(t, "sequence 1: expected at least 1 token", "empty")(s.Embeddings(ctx, [][]int32{{1}, {}}))
}

// TestEmbedRecordsOfEveryTask checks that Embed returns the embeddings of EmbedExamples for every task
// with single sequences, including fill-mask.
func TestEmbedRecordsOfEveryTask(t *testing.T) {
	for _, task := range []string{config.Classification, config.Regression, config.MultiLabel, config.Tagging,
		config.FillMask} {
		c := configtest.WithTask(configtest.TinyConfig(), task)
		s := modeltest.NewTestScorer(t, modeltest.RandomModel(c, 1))
		examples := []seq.Example{{A: []int32{1, 2, 3}}, {A: []int32{4}}}
		want := must.Get(s.EmbedExamples(t.Context(), examples))(t)
		got := must.Get(s.Embed(t.Context(), recordOf(false, examples)))(t)
		for i := range examples {
			if !slices.Equal(vectorAt(t, got, "embedding", i), want[i]) {
				t.Errorf("%s: row %d differs", task, i)
			}
		}
	}
}

func TestProbabilities(t *testing.T) {
	p := sft.Probabilities([]float32{float32(math.Log(3)), 0, -1000})
	if math.Abs(float64(p[0])-.75) > 1e-7 || math.Abs(float64(p[1])-.25) > 1e-7 || p[2] != 0 {
		t.Errorf("probabilities %v, want [0.75 0.25 0]", p)
	}
}

// TestScoreTags checks that the result of a tagging model has the tag of each token and its
// probability, in the columns tags and scores.
func TestScoreTags(t *testing.T) {
	m, examples := modeltest.LoadGolden(t, "tagging")
	m.Config.SpanDecoding = &config.SpanDecoding{SpanPenalty: 100} // no spans
	s := modeltest.NewTestScorer(t, m)
	want := must.Get(s.Examples(t.Context(), examples))(t)
	if likeliest := m.Config.LikeliestTags(want[0].Logits); slices.Max(likeliest) == 0 {
		t.Fatal("the decoding changes no tag")
	}
	record := must.Get(s.Score(t.Context(), recordOf(false, examples)))(t)
	var names []string
	for _, f := range record.Schema().Fields() {
		names = append(names, f.Name)
	}
	if !reflect.DeepEqual(names, []string{"tags", "scores", "length"}) {
		t.Fatalf("columns %q, want tags, scores and length", names)
	}
	tags, scores := record.Column(0).(*array.List), record.Column(1).(*array.List)
	for i, o := range want {
		from, to := tags.ValueOffsets(i)
		if got := tags.ListValues().(*array.Int32).Int32Values()[from:to]; !reflect.DeepEqual(got,
			m.Config.TagsOf(o.Logits)) {
			t.Errorf("row %d: tags %v, want %v", i, got, m.Config.TagsOf(o.Logits))
		}
		got := scores.ListValues().(*array.Float32).Float32Values()[from:to]
		for token, tag := range m.Config.TagsOf(o.Logits) {
			if p := sft.Probabilities(o.Logits[token*m.Config.NumLabels:][:m.Config.NumLabels])[tag]; got[token] != p {
				t.Errorf("row %d, token %d: score %v, want %v", i, token, got[token], p)
			}
		}
	}
}
