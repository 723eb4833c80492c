package seq

import (
	"errors"
	"fmt"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sftseq/sftseq/internal/arrowipc"
)

// PositionNames and NormalNames are the names of features that hold a token's position and its
// normal. Models with the relation "distance" use these features.
var (
	PositionNames = []string{"x", "y", "z"}
	NormalNames   = []string{"nx", "ny", "nz"}
)

// Points returns the indices of the three PositionNames in names. If names has all three
// NormalNames, their indices follow. Points returns nil if a position is missing.
func Points(names []string) (columns []int) {
	for _, group := range [][]string{PositionNames, NormalNames} {
		var indices []int
		for _, name := range group {
			if i := slices.Index(names, name); i >= 0 {
				indices = append(indices, i)
			}
		}
		if len(indices) < len(group) {
			break
		}
		columns = append(columns, indices...)
	}
	return columns
}

// CheckFeatureNames returns an error unless names are valid names of features, by the rules of
// [CheckNumberNames].
func CheckFeatureNames(names []string) error { return CheckNumberNames(names) }

// checkFeatureNames checks the names of features. Features replace tokens, so a specification with
// features must not describe tokens.
func (s *Spec) checkFeatureNames() error {
	if s.FeatureNames == nil {
		return nil
	}
	if err := CheckFeatureNames(s.FeatureNames); err != nil {
		return fmt.Errorf("%s: %w", KeyFeatureNames, err)
	}
	switch {
	case s.Pair():
		return fmt.Errorf("%s: task %s reads token ids, not features", KeyFeatureNames, s.Task)
	case s.VocabSize > 0 || s.PadID != nil || s.Tokenizer != nil:
		return fmt.Errorf("%s: expected no %s, %s or %s, because features replace token ids",
			KeyFeatureNames, KeyVocabSize, KeyPadTokenID, KeyTokenizer)
	}
	return nil
}

// checkFeaturesColumn checks that the schema has one column of features, with a number for each
// name, and no column of tokens. Without names, it checks that there is no column of features.
func (s *Spec) checkFeaturesColumn(schema *arrow.Schema) error {
	fields, ok := schema.FieldsByName(ColumnFeatures)
	switch {
	case s.FeatureNames == nil && ok:
		return fmt.Errorf("column %s: schema metadata: %s: expected a name for each feature of a token, found none",
			ColumnFeatures, KeyFeatureNames)
	case s.FeatureNames == nil:
		return nil
	case !ok:
		return fmt.Errorf("column %s is missing: %s requires it, found the columns %s", ColumnFeatures,
			KeyFeatureNames, columnNames(schema))
	case len(fields) > 1:
		return fmt.Errorf("column %s: expected once, found %d times", ColumnFeatures, len(fields))
	}
	for _, field := range schema.Fields() {
		if IsTokenColumn(field.Name) {
			return fmt.Errorf("column %s: expected no tokens, because %s replaces them", field.Name, ColumnFeatures)
		}
	}
	return checkItems(fields[0], arrow.PrimitiveTypes.Float32, len(s.FeatureNames))
}

// checkFeatures returns an error if a row may not have these features.
func (s *Spec) checkFeatures(features [][]float32) error {
	switch {
	case s.FeatureNames == nil && features != nil:
		return fmt.Errorf("expected token ids, found features of %d tokens", len(features))
	case s.FeatureNames == nil:
		return nil
	case len(features) == 0:
		return errors.New("expected at least one token, found an empty sequence")
	}
	if err := s.CheckTokenCount(len(features)); err != nil {
		return err
	}
	for i, row := range features {
		if len(row) != len(s.FeatureNames) {
			return fmt.Errorf("index %d: expected %d numbers, found %d", i, len(s.FeatureNames), len(row))
		}
		if err := checkFinite(row, s.FeatureNames); err != nil {
			return fmt.Errorf("index %d, %w", i, err)
		}
	}
	return nil
}

// CheckTokenCount returns an error if the number of tokens with features exceeds the maximum for a
// row.
func (s *Spec) CheckTokenCount(tokens int) error {
	if maxTokens := arrowipc.MaxBody / 16 / max(1, len(s.FeatureNames)); tokens > maxTokens {
		return fmt.Errorf("expected at most %d tokens, found %d", maxTokens, tokens)
	}
	return nil
}

// checkFinite returns an error for the first number that is not finite in a token or an edge.
func checkFinite(row []float32, names []string) error {
	for j, v := range row {
		if v-v != 0 {
			return fmt.Errorf("%q: expected a finite number, found %v", names[j], v)
		}
	}
	return nil
}

// tokenItems describes the items of the column of features in errors.
var tokenItems = itemKind{"token", "a token", "a sequence"}

// loadFeatures reads the column of features and checks the features of each row.
func (r *Rows) loadFeatures(spec *Spec) (err error) {
	if spec.FeatureNames == nil {
		return nil
	}
	r.features, err = loadItems(r, itemColumn[float32]{name: ColumnFeatures, kind: tokenItems,
		parts: quoteAll(spec.FeatureNames), width: len(spec.FeatureNames)}, 1)
	if err != nil {
		return err
	}
	return r.features.forEachItem(r, func(_ int, row []float32) error { return checkFinite(row, spec.FeatureNames) })
}

// Features returns a copy of the features of row i: one slice of numbers for each token in the
// window. It returns nil if the data have token ids.
func (r *Rows) Features(i int) [][]float32 {
	if r.features == nil {
		return nil
	}
	return r.features.row(i, r.window)
}
