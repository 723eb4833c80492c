package seq

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow/go/v15/arrow"
)

// The columns of a sequence file.
const (
	ColumnTokens  = "tokens"   // only sequence of a row
	ColumnTokensA = "tokens_a" // first sequence of a pair
	ColumnTokensB = "tokens_b" // second sequence of a pair
	// ColumnFeatures has numbers for each token and replaces the column tokens:
	// list<fixed_size_list<float32>>.
	ColumnFeatures = "features"
	// ColumnEdges has the edges among a row's tokens. An edge is a source and a target, counted
	// from 0: list<fixed_size_list<int32>[2]>.
	ColumnEdges = "edges"
	// ColumnEdgeFeatures has numbers for each edge, in the order of ColumnEdges:
	// list<fixed_size_list<float32>>. It is absent if edges have no features.
	ColumnEdgeFeatures = "edge_features"
	// ColumnLabel is int32, or list<int32> for several labels or a label for each token. It is
	// absent or null if the label is unknown.
	ColumnLabel   = "label"
	ColumnNumbers = "numbers" // fixed_size_list<float32>, for regression; absent or null if unknown
	ColumnID      = "id"      // utf8, identifies the row; absent or null without an id
)

// ColumnLabelMask is reserved for a mask that excludes labels of a list from the loss. It is not
// supported yet, so a file with this column is refused.
const ColumnLabelMask = "label_mask"

// The keys of the schema's metadata.
const (
	KeyVersion      = "version"       // Version or VersionShifted
	KeyTask         = "task"          // one of [Tasks]
	KeyName         = "name"          // name of the data set, such as listops
	KeyTokenizer    = "tokenizer"     // JSON, such as {"type": "listops"}
	KeyVocabSize    = "vocab_size"    // decimal
	KeyPadTokenID   = "pad_token_id"  // decimal; absent if there is no pad id
	KeyLabelNames   = "label_names"   // JSON list of strings; optional
	KeyNumberNames  = "number_names"  // JSON list of strings, for regression
	KeyFeatureNames = "feature_names" // JSON list of strings, one for each number of a token
	// KeyEdgeFeatureNames is a JSON list of strings, one for each number of an edge. The list may
	// be empty, and is absent if the data have no edges.
	KeyEdgeFeatureNames = "edge_feature_names"
	KeySplit            = "split"          // train, val, test, or any other name
	KeyFirstTokenID     = "first_token_id" // decimal: id that a stored 0 represents; 0 if absent
)

// Version is the value of KeyVersion. A file with KeyFirstTokenID has VersionShifted instead.
// Programs that do not know KeyFirstTokenID then refuse the file.
const (
	Version        = "1"
	VersionShifted = "2"
)

// Values of [Spec.Task].
const (
	Classification = "classification" // one label for a sequence
	Retrieval      = "retrieval"      // one label for a pair of sequences
	Regression     = "regression"     // numbers for a sequence
	MultiLabel     = "multi-label"    // any number of labels for a sequence
	Tagging        = "tagging"        // a label, or null, for each token
)

// MaxLabelNames is the maximum number of label names. It is bounded because an evaluation allocates
// memory for each name and, for multi-label, for each pair of a row and a name.
const MaxLabelNames = 1 << 16

// Tasks are the values of [Spec.Task].
var Tasks = []string{Classification, Retrieval, Regression, MultiLabel, Tagging}

// maxVocab is the maximum vocabulary size, which keeps token ids within int32.
const maxVocab = math.MaxInt32

// Spec is the specification of a file's sequences. Files of other programs may have no metadata.
// SpecOf then derives the task from the columns, and VocabSize is 0.
type Spec struct {
	Task        string          // one of Tasks
	Name        string          // name of the data set, such as listops
	Tokenizer   json.RawMessage // settings of the tokenizer; nil if not stated
	VocabSize   int             // number of ids; 0 if not stated
	PadID       *int32          // id that no sequence contains; nil if every id is a token
	LabelNames  []string        // names of the labels; nil if labels are plain numbers
	NumberNames []string        // names of the numbers, for regression only
	// FeatureNames are the names of the numbers of each token. They are nil if the data have token
	// ids.
	FeatureNames []string
	// EdgeFeatureNames are the names of the numbers of each edge. They may be empty, and are nil if
	// the data have no edges.
	EdgeFeatureNames []string
	Split            string // name of the split, such as train
	IDs              bool   // true if rows have ids; derived from the columns, not from the metadata
}

// Pair reports whether an example consists of two sequences.
func (s *Spec) Pair() bool { return s.Task == Retrieval }

// TokenColumns returns the names of the columns that hold sequences.
func (s *Spec) TokenColumns() []string {
	if s.Pair() {
		return []string{ColumnTokensA, ColumnTokensB}
	}
	if s.FeatureNames != nil {
		return []string{ColumnFeatures}
	}
	return []string{ColumnTokens}
}

// IsTokenColumn reports whether name is the name of a column of token ids.
func IsTokenColumn(name string) bool {
	return name == ColumnTokens || name == ColumnTokensA || name == ColumnTokensB
}

// Validate returns an error for the first invalid or contradictory field of the specification.
func (s *Spec) Validate() error {
	if !slices.Contains(Tasks, s.Task) {
		return fmt.Errorf("%s: expected one of %s, found %q", KeyTask, strings.Join(Tasks, ", "), s.Task)
	}
	if s.VocabSize < 0 || s.VocabSize > maxVocab {
		return fmt.Errorf("%s: expected 1 to %d, found %d", KeyVocabSize, maxVocab, s.VocabSize)
	}
	if s.PadID != nil && *s.PadID < 0 {
		return fmt.Errorf("%s: expected an id ≥ 0, found %d", KeyPadTokenID, *s.PadID)
	}
	if s.PadID != nil && s.VocabSize > 0 && int(*s.PadID) >= s.VocabSize {
		return fmt.Errorf("%s: expected an id below the vocabulary's size %d, found %d",
			KeyPadTokenID, s.VocabSize, *s.PadID)
	}
	if s.Tokenizer != nil {
		var object map[string]json.RawMessage
		if err := json.Unmarshal(s.Tokenizer, &object); err != nil {
			return fmt.Errorf("%s: expected a JSON object: %w", KeyTokenizer, err)
		}
	}
	if len(s.LabelNames) > MaxLabelNames {
		return fmt.Errorf("%s: expected at most %d names, found %d", KeyLabelNames, MaxLabelNames, len(s.LabelNames))
	}
	if s.LabelNames != nil && len(s.LabelNames) == 0 {
		return fmt.Errorf("%s: expected at least one name, found an empty list", KeyLabelNames)
	}
	if err := s.checkFeatureNames(); err != nil {
		return err
	}
	if err := s.checkEdgeFeatureNames(); err != nil {
		return err
	}
	return s.checkNumberNames()
}

// Schema returns the Arrow schema of files written for s.
func (s *Spec) Schema() *arrow.Schema {
	layout := s.layout()
	item := arrow.Field{Name: "item", Type: layout.item}
	var fields []arrow.Field
	for _, name := range s.TokenColumns() {
		column := arrow.DataType(arrow.ListOfField(item))
		if s.FeatureNames != nil {
			column = itemsType(arrow.PrimitiveTypes.Float32, len(s.FeatureNames))
		}
		fields = append(fields, arrow.Field{Name: name, Type: column})
	}
	fields = append(fields, s.edgeFields()...)
	switch {
	case s.NumberNames != nil:
		fields = append(fields, arrow.Field{Name: ColumnNumbers, Type: s.numbersType(), Nullable: true})
	case s.ListsLabels():
		fields = append(fields, arrow.Field{Name: ColumnLabel, Type: labelsType, Nullable: true})
	default:
		fields = append(fields, arrow.Field{Name: ColumnLabel, Type: arrow.PrimitiveTypes.Int32, Nullable: true})
	}
	if s.IDs {
		fields = append(fields, arrow.Field{Name: ColumnID, Type: arrow.BinaryTypes.String, Nullable: true})
	}

	keys := []string{KeyVersion, KeyTask}
	values := []string{Version, s.Task}
	add := func(key, value string) {
		keys, values = append(keys, key), append(values, value)
	}
	if s.Name != "" {
		add(KeyName, s.Name)
	}
	if s.Tokenizer != nil {
		add(KeyTokenizer, string(s.Tokenizer))
	}
	if s.VocabSize > 0 {
		add(KeyVocabSize, strconv.Itoa(s.VocabSize))
	}
	if s.PadID != nil {
		add(KeyPadTokenID, strconv.Itoa(int(*s.PadID)))
	}
	if s.LabelNames != nil {
		names, _ := json.Marshal(s.LabelNames) // strings always marshal without an error
		add(KeyLabelNames, string(names))
	}
	if s.NumberNames != nil {
		names, _ := json.Marshal(s.NumberNames)
		add(KeyNumberNames, string(names))
	}
	if s.FeatureNames != nil {
		names, _ := json.Marshal(s.FeatureNames)
		add(KeyFeatureNames, string(names))
	}
	if s.Edged() {
		names, _ := json.Marshal(s.EdgeFeatureNames)
		add(KeyEdgeFeatureNames, string(names))
	}
	if s.Split != "" {
		add(KeySplit, s.Split)
	}
	if layout.first > 0 {
		values[0] = VersionShifted
		add(KeyFirstTokenID, strconv.Itoa(int(layout.first)))
	}
	metadata := arrow.NewMetadata(keys, values)
	return arrow.NewSchema(fields, &metadata)
}

// sameMetadata reports whether the schemas of both specifications have equal metadata.
func (s *Spec) sameMetadata(other *Spec) bool {
	a, b := s.Schema().Metadata(), other.Schema().Metadata()
	return a.Equal(b)
}

// SpecOf returns the specification in a schema's metadata, after checking the columns.
func SpecOf(schema *arrow.Schema) (*Spec, error) {
	spec := &Spec{Task: Classification, IDs: hasIDs(schema)}
	_, hasA := schema.FieldsByName(ColumnTokensA)
	_, hasB := schema.FieldsByName(ColumnTokensB)
	if hasA || hasB {
		spec.Task = Retrieval
	}
	if err := spec.readMetadata(schema.Metadata()); err != nil {
		return nil, fmt.Errorf("schema metadata: %w", err)
	}
	if _, err := FirstTokenID(schema); err != nil {
		return nil, fmt.Errorf("schema metadata: %w", err)
	}
	if err := spec.checkColumns(schema); err != nil {
		return nil, err
	}
	return spec, nil
}

// readMetadata sets the fields that the schema's metadata state, and validates them.
func (s *Spec) readMetadata(metadata arrow.Metadata) error {
	text := func(key string) (string, bool) { return metadata.GetValue(key) }
	if version, ok := text(KeyVersion); ok && version != Version && version != VersionShifted {
		return fmt.Errorf("%s: expected %q or %q, found %.40q", KeyVersion, Version, VersionShifted, version)
	}
	if task, ok := text(KeyTask); ok {
		s.Task = task
	}
	s.Name, _ = text(KeyName)
	s.Split, _ = text(KeySplit)
	if tokenizer, ok := text(KeyTokenizer); ok {
		s.Tokenizer = json.RawMessage(tokenizer)
	}
	if size, ok := text(KeyVocabSize); ok {
		n, err := strconv.ParseInt(size, 10, 32)
		if err != nil || n < 1 {
			return fmt.Errorf("%s: expected 1 to %d, found %q", KeyVocabSize, maxVocab, size)
		}
		s.VocabSize = int(n)
	}
	if pad, ok := text(KeyPadTokenID); ok {
		n, err := strconv.ParseInt(pad, 10, 32)
		if err != nil {
			return fmt.Errorf("%s: expected an integer, found %q", KeyPadTokenID, pad)
		}
		id := int32(n)
		s.PadID = &id
	}
	if names, ok := text(KeyLabelNames); ok {
		if err := json.Unmarshal([]byte(names), &s.LabelNames); err != nil {
			return fmt.Errorf("%s: expected a JSON list of strings: %w", KeyLabelNames, err)
		}
	}
	if names, ok := text(KeyNumberNames); ok {
		if err := json.Unmarshal([]byte(names), &s.NumberNames); err != nil {
			return fmt.Errorf("%s: expected a JSON list of strings: %w", KeyNumberNames, err)
		}
	}
	if names, ok := text(KeyFeatureNames); ok {
		if err := json.Unmarshal([]byte(names), &s.FeatureNames); err != nil {
			return fmt.Errorf("%s: expected a JSON list of strings: %w", KeyFeatureNames, err)
		}
	}
	if names, ok := text(KeyEdgeFeatureNames); ok {
		s.EdgeFeatureNames = []string{}
		if err := json.Unmarshal([]byte(names), &s.EdgeFeatureNames); err != nil || !s.Edged() {
			return fmt.Errorf("%s: expected a JSON list of strings, found %.40q", KeyEdgeFeatureNames, names)
		}
	}
	return s.Validate()
}

// checkColumns checks that the required columns exist once, and that columns have the types of the
// package documentation. It accepts each type of token ids for any vocabulary size.
func (s *Spec) checkColumns(schema *arrow.Schema) error {
	if schema.HasField(ColumnLabelMask) {
		return fmt.Errorf("column %s: the name is reserved: rename the column", ColumnLabelMask)
	}
	if err := s.checkFeaturesColumn(schema); err != nil {
		return err
	}
	if err := s.checkEdgeColumns(schema); err != nil {
		return err
	}
	for _, name := range s.TokenColumns() {
		if s.FeatureNames != nil {
			continue
		}
		fields, ok := schema.FieldsByName(name)
		if !ok {
			return fmt.Errorf("column %s is missing: task %s requires it, found the columns %s", name,
				s.Task, columnNames(schema))
		}
		if len(fields) > 1 {
			return fmt.Errorf("column %s: expected once, found %d times", name, len(fields))
		}
		list, ok := fields[0].Type.(*arrow.ListType)
		if !ok || !isTokenType(list.Elem()) {
			return fmt.Errorf("column %s: expected list<uint8>, list<uint16> or list<int32>, found %s", name,
				fields[0].Type)
		}
	}
	if err := s.checkLabelColumn(schema); err != nil {
		return err
	}
	return s.checkNumbersColumn(schema)
}

func isTokenType(t arrow.DataType) bool {
	return t.ID() == arrow.UINT8 || t.ID() == arrow.UINT16 || t.ID() == arrow.INT32
}

func columnNames(schema *arrow.Schema) string {
	var names bytes.Buffer
	for i, field := range schema.Fields() {
		if i > 0 {
			names.WriteString(", ")
		}
		fmt.Fprintf(&names, "%.40q", field.Name)
	}
	if names.Len() == 0 {
		return "(none)"
	}
	return names.String()
}
