package seq

import (
	"fmt"
	"slices"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sftseq/sftseq/internal/arrowipc"
)

// Edge is a directed edge of a graph, between two tokens of a sequence or from a token to itself.
// [Spec.EdgeFeatureNames] names its features.
type Edge struct {
	Source, Target int32 // token indices, from 0
	Features       []float32
}

// edgeItems describes the items of both columns of edges in errors.
var edgeItems = itemKind{"edge", "an edge", "a list of edges"}

// edgeEnds holds the names of the two token indices of an edge, for errors.
var edgeEnds = []string{"source", "target"}

// CheckEdgeFeatureNames returns an error if names are not allowed for features of edges. An empty
// list is allowed.
func CheckEdgeFeatureNames(names []string) error {
	if len(names) == 0 {
		return nil
	}
	return CheckNumberNames(names)
}

// Edged reports whether rows have edges.
func (s *Spec) Edged() bool { return s.EdgeFeatureNames != nil }

// checkEdgeFeatureNames checks the names of features of edges, and that tokens have features, which
// edges require.
func (s *Spec) checkEdgeFeatureNames() error {
	if !s.Edged() {
		return nil
	}
	if err := CheckEdgeFeatureNames(s.EdgeFeatureNames); err != nil {
		return fmt.Errorf("%s: %w", KeyEdgeFeatureNames, err)
	}
	if s.FeatureNames == nil {
		return fmt.Errorf("%s requires %s: edges connect tokens with features",
			KeyEdgeFeatureNames, KeyFeatureNames)
	}
	return nil
}

// edgeFields returns the Arrow fields for the columns of edges in written files.
func (s *Spec) edgeFields() (fields []arrow.Field) {
	if s.Edged() {
		fields = append(fields, arrow.Field{Name: ColumnEdges, Type: itemsType(arrow.PrimitiveTypes.Int32, 2)})
	}
	if n := len(s.EdgeFeatureNames); n > 0 {
		fields = append(fields, arrow.Field{Name: ColumnEdgeFeatures, Type: itemsType(arrow.PrimitiveTypes.Float32, n)})
	}
	return fields
}

// checkEdgeColumns checks the columns of edges and their types. Graphs require a column of pairs of
// token indices. If edges have features, a column with a number for each feature is required too. A
// column that is not required is refused.
func (s *Spec) checkEdgeColumns(schema *arrow.Schema) error {
	for _, c := range []struct {
		name     string
		expected bool
		number   arrow.DataType
		width    int
	}{
		{ColumnEdges, s.Edged(), arrow.PrimitiveTypes.Int32, 2},
		{ColumnEdgeFeatures, len(s.EdgeFeatureNames) > 0, arrow.PrimitiveTypes.Float32, len(s.EdgeFeatureNames)},
	} {
		fields, ok := schema.FieldsByName(c.name)
		switch {
		case !c.expected && ok:
			return fmt.Errorf("column %s: schema metadata: %s: expected a name for each feature of an edge, found none",
				c.name, KeyEdgeFeatureNames)
		case !c.expected:
			continue
		case !ok:
			return fmt.Errorf("column %s is missing: %s requires it, found the columns %s", c.name,
				KeyEdgeFeatureNames, columnNames(schema))
		case len(fields) > 1:
			return fmt.Errorf("column %s: expected once, found %d times", c.name, len(fields))
		}
		if err := checkItems(fields[0], c.number, c.width); err != nil {
			return err
		}
	}
	return nil
}

// checkEdges returns an error if a row with the given number of tokens may not have these edges.
func (s *Spec) checkEdges(edges []Edge, tokens int) error {
	if !s.Edged() && edges != nil {
		return fmt.Errorf("expected no edges without %s, found %d", KeyEdgeFeatureNames, len(edges))
	}
	if err := s.CheckEdgeCount(len(edges)); err != nil {
		return err
	}
	for i, e := range edges {
		err := checkEnds([]int32{e.Source, e.Target}, tokens)
		if n := len(e.Features); err == nil && n != len(s.EdgeFeatureNames) {
			return fmt.Errorf("index %d: expected %d features of the edge, found %d", i, len(s.EdgeFeatureNames), n)
		}
		if err == nil {
			err = checkFinite(e.Features, s.EdgeFeatureNames)
		}
		if err != nil {
			return fmt.Errorf("index %d, %w", i, err)
		}
	}
	return nil
}

// CheckEdgeCount returns an error if the number of edges exceeds the maximum for a row.
func (s *Spec) CheckEdgeCount(edges int) error {
	if maxEdges := arrowipc.MaxBody / 16 / (2 + len(s.EdgeFeatureNames)); edges > maxEdges {
		return fmt.Errorf("expected at most %d edges, found %d", maxEdges, edges)
	}
	return nil
}

// checkEnds returns an error for the first end of an edge that is not a token of the sequence.
func checkEnds(ends []int32, tokens int) error {
	for i, t := range ends {
		if t < 0 || int(t) >= tokens {
			return fmt.Errorf("%s: expected a node from 0 to %d, found %d", edgeEnds[i], tokens-1, t)
		}
	}
	return nil
}

// edgeColumns holds the columns of edges of a record.
type edgeColumns struct {
	ends     *itemColumn[int32]
	features *itemColumn[float32] // nil if edges have no features
}

// loadEdges reads the columns of edges and checks the edges of each row.
func (r *Rows) loadEdges(spec *Spec) (err error) {
	if !spec.Edged() {
		return nil
	}
	c := &edgeColumns{}
	r.edges = c
	if c.ends, err = loadItems(r, itemColumn[int32]{name: ColumnEdges, kind: edgeItems, parts: edgeEnds,
		width: 2}, 0); err != nil {
		return err
	}
	if err := c.ends.forEachItem(r,
		func(i int, ends []int32) error { return checkEnds(ends, r.features.count(i)) }); err != nil {
		return err
	}
	if len(spec.EdgeFeatureNames) == 0 {
		return nil
	}
	c.features, err = loadItems(r, itemColumn[float32]{name: ColumnEdgeFeatures, kind: edgeItems,
		parts: quoteAll(spec.EdgeFeatureNames), width: len(spec.EdgeFeatureNames)}, 0)
	if err != nil {
		return err
	}
	for i := range r.Len() {
		if n, want := c.features.count(i), c.ends.count(i); n != want {
			return fmt.Errorf("%s: expected features for %d edges, found features for %d", c.features.location(r, i),
				want, n)
		}
	}
	return c.features.forEachItem(r, func(_ int,
		row []float32) error {
		return checkFinite(row, spec.EdgeFeatureNames)
	})
}

// Edges returns a copy of the edges of row i with both ends in the window. It returns nil if the
// data have no edges.
func (r *Rows) Edges(i int) []Edge {
	if r.edges == nil {
		return nil
	}
	out := make([]Edge, 0, r.edgeCount(i))
	ends, features, width := r.edges.ends.numbersOf(i), []float32(nil), 0
	if c := r.edges.features; c != nil {
		features, width = c.numbersOf(i), c.width
	}
	copied, complete := make([]float32, 0, cap(out)*width), cap(out) == len(ends)/2
	for e := range len(ends) / 2 {
		edge := Edge{Source: ends[2*e], Target: ends[2*e+1]}
		if !complete && !r.inWindow(i, edge.Source, edge.Target) {
			continue
		}
		if width > 0 {
			start := len(copied)
			copied = append(copied, features[e*width:][:width]...)
			edge.Features = copied[start:len(copied):len(copied)]
		}
		out = append(out, edge)
	}
	return out
}

// inWindow reports whether both ends of an edge of row i lie in the window.
func (r *Rows) inWindow(i int, source, target int32) bool {
	return r.window.Length == 0 || int(max(source, target)) < r.length(0, i)
}

// edgeCount returns the number of edges of row i within the window.
func (r *Rows) edgeCount(i int) int {
	if r.window.Length == 0 {
		return r.edges.ends.count(i)
	}
	n := 0
	for ends := r.edges.ends.numbersOf(i); len(ends) > 0; ends = ends[2:] {
		if r.inWindow(i, ends[0], ends[1]) {
			n++
		}
	}
	return n
}

// EdgesWithin returns the edges with both ends among the first n tokens of a sequence, where n is the
// parameter tokens. The result is a copy if it omits edges.
func EdgesWithin(edges []Edge, tokens int) []Edge {
	count := 0
	isWithin := func(e Edge) bool { return int(max(e.Source, e.Target)) < tokens }
	for _, e := range edges {
		if isWithin(e) {
			count++
		}
	}
	if count == len(edges) {
		return edges
	}
	out := make([]Edge, 0, count)
	for _, e := range edges {
		if isWithin(e) {
			e.Features = slices.Clone(e.Features)
			out = append(out, e)
		}
	}
	return out
}

// detach copies the columns out of the record's memory and returns the size of the copies in bytes.
func (c *edgeColumns) detach() int64 {
	if c == nil {
		return 0
	}
	return c.ends.detach() + c.features.detach()
}

// edgeLists collects the edges of rows for writing.
type edgeLists struct {
	ends     itemList[int32]
	features itemList[float32]
}

func (l *edgeLists) reset() {
	l.ends.reset()
	l.features.reset()
}

func (l *edgeLists) append(edges []Edge) {
	for _, e := range edges {
		l.ends.values = append(l.ends.values, e.Source, e.Target)
		l.features.values = append(l.features.values, e.Features...)
	}
	l.ends.endRow(len(edges))
	l.features.endRow(len(edges))
}

// arrays returns the Arrow arrays for the fields of [Spec.edgeFields].
func (l *edgeLists) arrays(fields []arrow.Field) (columns []arrow.Array) {
	for _, f := range fields {
		switch f.Name {
		case ColumnEdges:
			columns = append(columns, l.ends.array(f.Type.(*arrow.ListType)))
		case ColumnEdgeFeatures:
			columns = append(columns, l.features.array(f.Type.(*arrow.ListType)))
		}
	}
	return columns
}
