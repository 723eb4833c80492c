package sft

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sftseq/sftseq/internal/fmath"
	"github.com/sftseq/sftseq/internal/jsonlines"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft/internal/model"
)

// A record is processed in parts, so that temporary memory does not grow with the record. A part ends
// after pieceRows rows, or after the row with which it has at least pieceTokens tokens.
const (
	pieceRows   = 256
	pieceTokens = 16 * model.MicroBatchTokens
)

// RowError is the error for one row of a record.
type RowError struct {
	Row int // index in the record, from 0
	Err error
}

func (e *RowError) Error() string { return fmt.Sprintf("row %d: %v", e.Row, e.Err) }

// Unwrap returns the cause.
func (e *RowError) Unwrap() error { return e.Err }

// errNonFinite is the error for an output with a NaN or an infinity. Such an output has no meaning,
// but an argmax would still return a label.
var errNonFinite = errors.New("the model's output is not finite")

// Score predicts the rows of a record with the column tokens, features, or tokens_a and tokens_b
// for a model of pairs (see [seq]). The result has one row per row of the record:
//
//	label           int32
//	logits          fixed_size_list<float32>
//	probabilities   fixed_size_list<float32>
//	length          int32, tokens of the sequence, or of both sequences of a pair
//	length_a, length_b   int32, pairs only
//	used            int32, tokens in the input window; only with an input window
//
// For a regression, instead of the first three columns:
//
//	numbers         fixed_size_list<float32>
//
// For multi-label, instead of the first column:
//
//	labels          list<int32>, labels whose probability is at least their threshold
//
// For tagging, instead of the first three columns, the tag of each token, decoded with
// [config.Config.SpanDecoding], and the probability of this tag:
//
//	tags            list<int32>
//	scores          list<float32>
//
// The schema's metadata has the names of labels or numbers, if the model has names. If the model does
// not accept a row, or its output for the row is not finite, the error is a [*RowError]. Score is safe
// for concurrent use.
func (s *Scorer) Score(ctx context.Context, record arrow.Record) (arrow.Record, error) {
	c := s.Config()
	if err := c.CheckHasPredictions(); err != nil {
		return nil, err
	}
	kind := outputKindOf(c)
	spec, err := seq.SpecOf(record.Schema())
	if err != nil {
		return nil, err
	}
	if len(spec.TokenColumns()) != c.Sequences() {
		return nil, fmt.Errorf("the record's task is %s, the model's is %s", spec.Task, c.Task)
	}
	return s.mapRecord(ctx, record, spec, kind.columns(c),
		func(b *array.RecordBuilder, first int, examples []seq.Example) error {
			outputs, err := s.Examples(ctx, examples)
			if err != nil {
				return err
			}
			for i, out := range outputs {
				if !fmath.Finite(out.Logits) {
					return &RowError{Row: first + i, Err: errNonFinite}
				}
				kind.append(c, b, out.Logits)
			}
			return nil
		})
}

// Embed is like [Scorer.Score] for embeddings. Instead of the columns of predictions it returns
// embedding, or embedding_a and embedding_b for pairs, as fixed_size_list<float32>. A model of pairs
// also embeds single sequences, and a model of single sequences also embeds pairs.
func (s *Scorer) Embed(ctx context.Context, record arrow.Record) (arrow.Record, error) {
	spec, err := seq.SpecOf(record.Schema())
	if err != nil {
		return nil, err
	}
	var fields []arrow.Field
	for _, name := range suffixed("embedding", spec.Pair()) {
		fields = append(fields, arrow.Field{Name: name, Type: vector(s.Config().HiddenSize)})
	}
	return s.mapRecord(ctx, record, spec, fields, func(b *array.RecordBuilder, first int,
		examples []seq.Example) error {
		var sequences []seq.Example
		for _, e := range examples {
			sequences = append(sequences, seq.Example{A: e.A, Features: e.Features, Edges: e.Edges})
			if len(fields) == 2 {
				sequences = append(sequences, seq.Example{A: e.B})
			}
		}
		embeddings, err := s.EmbedExamples(ctx, sequences)
		for i, v := range embeddings {
			if !fmath.Finite(v) {
				return &RowError{Row: first + i/len(fields), Err: errNonFinite}
			}
			appendVector(b.Field(i%len(fields)), v)
		}
		return err
	})
}

// mapRecord returns a result with one row per row of a record, and with the columns fields and lengths.
// fill appends the values of fields for one part of the record, whose first row has the index first.
func (s *Scorer) mapRecord(ctx context.Context, record arrow.Record, spec *seq.Spec, fields []arrow.Field,
	fill func(b *array.RecordBuilder, first int, examples []seq.Example) error) (arrow.Record, error) {
	if want := s.Config().FeatureNames; !slices.Equal(spec.FeatureNames, want) {
		return nil, fmt.Errorf("the record's features are %s, the model's %s",
			jsonlines.QuoteNames(spec.FeatureNames), jsonlines.QuoteNames(want))
	}
	if err := s.Config().SameEdges(spec.EdgeFeatureNames); err != nil {
		return nil, fmt.Errorf("the record: %w", err)
	}
	rows, err := seq.RowsOf(record, spec)
	if err != nil {
		return nil, err
	}
	l := s.newLengths(spec.Pair(), len(fields))
	metadata := s.metadata()
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema(append(fields, l.fields()...), &metadata))
	defer b.Release()
	for at := 0; at < rows.Len(); {
		first := at
		var piece []seq.Example
		for tokens := 0; at < rows.Len() && len(piece) < pieceRows && tokens < pieceTokens; at++ {
			e := rows.Example(at)
			if err := l.append(b, &e); err != nil {
				return nil, &RowError{Row: at, Err: err}
			}
			tokens += e.Length()
			piece = append(piece, e)
		}
		if err := fill(b, first, piece); err != nil {
			return nil, err
		}
	}
	return b.NewRecord(), nil
}

func (s *Scorer) metadata() arrow.Metadata {
	c := s.Config()
	key, names := defaultTraits{}.columnNames(c)
	if c.CheckHasPredictions() == nil { // Embed also accepts models without predictions
		key, names = outputKindOf(c).columnNames(c)
	}
	if names == nil {
		return arrow.Metadata{}
	}
	text, _ := json.Marshal(names) // strings always marshal
	return arrow.NewMetadata([]string{key}, []string{string(text)})
}

// lengths appends the columns length, length_a, length_b and used of [Scorer.Score] to a result.
type lengths struct {
	config *Config
	pair   bool
	first  int // index of the first column
	names  []string
}

func (s *Scorer) newLengths(pair bool, first int) *lengths {
	l := &lengths{config: s.Config(), pair: pair, first: first, names: []string{"length"}}
	if pair {
		l.names = append(l.names, "length_a", "length_b")
	}
	if l.config.InputWindow != nil {
		l.names = append(l.names, "used")
	}
	return l
}

func (l *lengths) fields() []arrow.Field {
	var out []arrow.Field
	for _, name := range l.names {
		out = append(out, arrow.Field{Name: name, Type: arrow.PrimitiveTypes.Int32})
	}
	return out
}

// append appends an example's lengths and truncates the example to the model's input window.
func (l *lengths) append(b *array.RecordBuilder, e *seq.Example) error {
	values := []int{e.Length()}
	if l.pair {
		values = append(values, len(e.A), len(e.B))
	}
	var err error
	if l.config.HasFeatures() {
		if e.Features, e.Edges, err = l.config.WindowGraph(e.Features, e.Edges); err != nil {
			return l.wrap(err, seq.ColumnFeatures, "")
		}
	} else if e.A, err = l.config.Window(e.A); err != nil {
		return l.wrap(err, seq.ColumnTokens, seq.ColumnTokensA)
	}
	if l.pair {
		if e.B, err = l.config.Window(e.B); err != nil {
			return l.wrap(err, "", seq.ColumnTokensB)
		}
	}
	values = append(values, e.Length())
	for i := range l.names {
		b.Field(l.first + i).(*array.Int32Builder).Append(int32(values[i]))
	}
	return nil
}

// wrap adds the name of the column to an error.
func (l *lengths) wrap(err error, single, pair string) error {
	if l.pair {
		single = pair
	}
	return fmt.Errorf("column %s: %w", single, err)
}

// suffixed returns a column name, or one name per sequence of a pair.
func suffixed(name string, pair bool) []string {
	if pair {
		return []string{name + "_a", name + "_b"}
	}
	return []string{name}
}

// vector returns the type of a column of vectors of n floats.
func vector(n int) arrow.DataType {
	return arrow.FixedSizeListOf(int32(n), arrow.PrimitiveTypes.Float32)
}

func appendVector(b array.Builder, v []float32) {
	list := b.(*array.FixedSizeListBuilder)
	list.Append(true)
	list.ValueBuilder().(*array.Float32Builder).AppendValues(v, nil)
}
