package seq

import (
	"errors"
	"fmt"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sftseq/sftseq/internal/arrowipc"
)

// PositionNames and NormalNames are the features that place a token in space: what a relation
// of distances reads of them.
var (
	PositionNames = []string{"x", "y", "z"}
	NormalNames   = []string{"nx", "ny", "nz"}
)

// Points returns which features are positions, and behind them, where all three are there,
// normals: three indices, or six. It is nil if a position is missing.
func Points(names []string) (columns []int) {
	for _, group := range [][]string{PositionNames, NormalNames} {
		var at []int
		for _, name := range group {
			if i := slices.Index(names, name); i >= 0 {
				at = append(at, i)
			}
		}
		if len(at) < len(group) {
			break
		}
		columns = append(columns, at...)
	}
	return columns
}

// CheckFeatureNames reports names that features cannot have.
func CheckFeatureNames(names []string) error { return CheckNumberNames(names) }

// checkFeatureNames: features are in place of tokens, so nothing is said of these.
func (s *Spec) checkFeatureNames() error {
	if s.FeatureNames == nil {
		return nil
	}
	if err := CheckFeatureNames(s.FeatureNames); err != nil {
		return fmt.Errorf("%s: %w", KeyFeatureNames, err)
	}
	switch {
	case s.Pair():
		return fmt.Errorf("%s: expected none for task %s, whose sequences are tokens", KeyFeatureNames, s.Task)
	case s.VocabSize > 0 || s.PadID != nil || s.Tokenizer != nil:
		return fmt.Errorf("%s: expected neither %s nor %s nor %s beside features, which are in place of tokens", KeyFeatureNames, KeyVocabSize, KeyPadTokenID, KeyTokenizer)
	}
	return nil
}

// featuresType is that of the column of files that are written.
func (s *Spec) featuresType() arrow.DataType {
	return arrow.ListOf(arrow.FixedSizeListOf(int32(len(s.FeatureNames)), arrow.PrimitiveTypes.Float32))
}

// checkFeaturesColumn expects the column once, of lists of as many numbers as have names, and none of tokens.
func (s *Spec) checkFeaturesColumn(schema *arrow.Schema) error {
	fields, ok := schema.FieldsByName(ColumnFeatures)
	switch {
	case s.FeatureNames == nil && ok:
		return fmt.Errorf("column %s: expected %s in the schema's metadata, which name each number of a token", ColumnFeatures, KeyFeatureNames)
	case s.FeatureNames == nil:
		return nil
	case !ok:
		return fmt.Errorf("column %s: expected with %s, found only the columns %s", ColumnFeatures, KeyFeatureNames, columnNames(schema))
	case len(fields) > 1:
		return fmt.Errorf("column %s: expected once, found %d times", ColumnFeatures, len(fields))
	}
	for _, field := range schema.Fields() {
		if IsTokenColumn(field.Name) {
			return fmt.Errorf("column %s: expected none beside features", field.Name)
		}
	}
	if list, ok := fields[0].Type.(*arrow.ListType); ok {
		switch item := list.Elem().(type) {
		case *arrow.FixedSizeListType:
			if item.Elem().ID() == arrow.FLOAT32 && int(item.Len()) == len(s.FeatureNames) {
				return nil
			}
		case *arrow.ListType:
			if item.Elem().ID() == arrow.FLOAT32 {
				return nil
			}
		}
	}
	return fmt.Errorf("column %s: expected list<fixed_size_list<float32>[%d]> or list<list<float32>>, found %s", ColumnFeatures, len(s.FeatureNames), fields[0].Type)
}

// checkFeatures reports features that a row may not have.
func (s *Spec) checkFeatures(features [][]float32) error {
	switch {
	case s.FeatureNames == nil && features != nil:
		return fmt.Errorf("expected none, as the data have tokens, found those of %d tokens", len(features))
	case s.FeatureNames == nil:
		return nil
	case len(features) == 0:
		return errors.New("expected at least one token, found an empty sequence")
	case len(features) > arrowipc.MaxBody/16/len(s.FeatureNames):
		return fmt.Errorf("expected at most %d tokens, found %d", arrowipc.MaxBody/16/len(s.FeatureNames), len(features))
	}
	for i, row := range features {
		if len(row) != len(s.FeatureNames) {
			return fmt.Errorf("index %d: expected %d numbers, found %d", i, len(s.FeatureNames), len(row))
		}
		if err := s.checkFinite(row); err != nil {
			return fmt.Errorf("index %d, %w", i, err)
		}
	}
	return nil
}

// checkFinite names the first number of a token that is none.
func (s *Spec) checkFinite(row []float32) error {
	for j, v := range row {
		if v-v != 0 {
			return fmt.Errorf("%q: expected a finite number, found %v", s.FeatureNames[j], v)
		}
	}
	return nil
}

// featureColumn is the features of rows: width numbers for each token.
type featureColumn struct {
	offsets []int32 // of tokens, one more than rows
	width   int
	values  []float32
}

// row copies the first n tokens of row i.
func (c *featureColumn) row(i, n int) [][]float32 {
	if c == nil {
		return nil
	}
	from := int(c.offsets[i]) * c.width
	return split(slices.Clone(c.values[from:from+n*c.width]), c.width)
}

// split cuts numbers into rows of a width.
func split(values []float32, width int) [][]float32 {
	out := make([][]float32, len(values)/width)
	for i := range out {
		out[i] = values[i*width : (i+1)*width : (i+1)*width]
	}
	return out
}

// loadFeatures takes the column of features, and checks each row.
func (r *Rows) loadFeatures(spec *Spec) error {
	if spec.FeatureNames == nil {
		return nil
	}
	list := r.record.Column(r.record.Schema().FieldIndices(ColumnFeatures)[0]).(*array.List)
	c := &featureColumn{width: len(spec.FeatureNames)}
	r.features = c
	if list.Len() == 0 {
		return nil
	}
	if err := checkBitmap(list, ColumnFeatures); err != nil {
		return err
	}
	var err error
	if c.offsets, err = offsetsOf(list, ColumnFeatures); err != nil {
		return err
	}
	tokens := list.ListValues()
	if err := checkBitmap(tokens, ColumnFeatures); err != nil {
		return err
	}
	at := func(i int) string { return fmt.Sprintf("row %d, column %s", r.first+int64(i), ColumnFeatures) }
	for i := range list.Len() {
		from, to := c.offsets[i], c.offsets[i+1]
		switch {
		case list.IsNull(i):
			return fmt.Errorf("%s: expected a sequence, found null", at(i))
		case from < 0 || to < from || int(to) > tokens.Len():
			return fmt.Errorf("%s: offsets %d to %d do not lie within the %d tokens", at(i), from, to, tokens.Len())
		case from == to:
			return fmt.Errorf("%s: expected at least one token, found an empty sequence", at(i))
		}
	}
	numbers, begin, err := c.load(tokens)
	if err != nil {
		return err
	}
	if err := checkBitmap(numbers, ColumnFeatures); err != nil {
		return err
	}
	for i := range list.Len() {
		for t := c.offsets[i]; t < c.offsets[i+1]; t++ {
			if err := c.checkToken(tokens, numbers, begin, int(t), spec); err != nil {
				return fmt.Errorf("%s, index %d%w", at(i), t-c.offsets[i], err)
			}
		}
	}
	return nil
}

// load takes the numbers of all tokens. Those of token t begin at begin(t).
func (c *featureColumn) load(tokens arrow.Array) (numbers *array.Float32, begin func(t int) (from, n int), err error) {
	switch tokens := tokens.(type) {
	case *array.FixedSizeList:
		numbers = tokens.ListValues().(*array.Float32)
		first := tokens.Data().Offset()
		if need := c.width * (first + tokens.Len()); need > numbers.Len() {
			return nil, nil, fmt.Errorf("column %s: expected %d numbers, found %d", ColumnFeatures, need, numbers.Len())
		}
		c.values = numbers.Float32Values()[c.width*first:]
		return numbers, func(t int) (int, int) { return c.width * (first + t), c.width }, nil
	case *array.List:
		numbers = tokens.ListValues().(*array.Float32)
		offsets, err := offsetsOf(tokens, ColumnFeatures)
		if err != nil {
			return nil, nil, err
		}
		for t := range tokens.Len() {
			if from, to := offsets[t], offsets[t+1]; from < 0 || to < from || int(to) > numbers.Len() {
				return nil, nil, fmt.Errorf("column %s: offsets %d to %d do not lie within the %d numbers", ColumnFeatures, from, to, numbers.Len())
			}
		}
		c.values = numbers.Float32Values()[offsets[0]:]
		return numbers, func(t int) (int, int) { return int(offsets[t]), int(offsets[t+1] - offsets[t]) }, nil
	}
	panic("seq: features of another type than was checked")
}

// checkToken reports a token that is null, has another number of features than there are names,
// or one that is no finite number.
func (c *featureColumn) checkToken(tokens arrow.Array, numbers *array.Float32, begin func(t int) (from, n int), t int, spec *Spec) error {
	if tokens.IsNull(t) {
		return errors.New(": expected a token, found null")
	}
	from, n := begin(t)
	if n != c.width {
		return fmt.Errorf(": expected %d numbers, found %d", c.width, n)
	}
	if first, _ := begin(0); from != first+t*c.width {
		return fmt.Errorf(": expected the numbers of tokens one after another, found those at %d where %d are expected", from, first+t*c.width)
	}
	if numbers.NullN() > 0 {
		for j := range n {
			if numbers.IsNull(from + j) {
				return fmt.Errorf(", %q: expected a finite number, found null", spec.FeatureNames[j])
			}
		}
	}
	if err := spec.checkFinite(numbers.Float32Values()[from : from+n]); err != nil {
		return fmt.Errorf(", %w", err)
	}
	return nil
}

// Features returns a copy of those of row i, a row for each token that is read; nil where the data have tokens.
func (r *Rows) Features(i int) [][]float32 {
	if r.features == nil {
		return nil
	}
	return r.features.row(i, r.length(0, i))
}

// own gives the column memory of its own, of so many bytes.
func (c *featureColumn) own() int64 {
	if c == nil {
		return 0
	}
	used := 0
	if n := len(c.offsets); n > 0 {
		used = int(c.offsets[n-1]) * c.width
	}
	c.offsets, c.values = slices.Clone(c.offsets), slices.Clone(c.values[:used])
	return int64(4*len(c.offsets) + 4*len(c.values))
}

// featureList is a column of features that is written.
type featureList struct {
	offsets []int32 // of tokens, one more than rows
	values  []float32
}

// reset leaves no row.
func (l *featureList) reset() { l.offsets, l.values = append(l.offsets[:0], 0), l.values[:0] }

func (l *featureList) append(features [][]float32) {
	for _, row := range features {
		l.values = append(l.values, row...)
	}
	l.offsets = append(l.offsets, l.offsets[len(l.offsets)-1]+int32(len(features)))
}

// array is the column, of a type of [Spec.featuresType].
func (l *featureList) array(t *arrow.ListType) arrow.Array {
	tokens := int(l.offsets[len(l.offsets)-1])
	floats := memory.NewBufferBytes(arrow.Float32Traits.CastToBytes(l.values))
	numbers := array.NewData(arrow.PrimitiveTypes.Float32, len(l.values), []*memory.Buffer{nil, floats}, nil, 0, 0)
	rows := array.NewData(t.Elem(), tokens, []*memory.Buffer{nil}, []arrow.ArrayData{numbers}, 0, 0)
	offsets := memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(l.offsets))
	return array.NewListData(array.NewData(t, len(l.offsets)-1, []*memory.Buffer{nil, offsets}, []arrow.ArrayData{rows}, 0, 0))
}
