package convert

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/sftseq/sftseq/internal/graphlines"
	"github.com/sftseq/sftseq/internal/jsonlines"
	"github.com/sftseq/sftseq/internal/philox"
	"github.com/sftseq/sftseq/internal/stratify"
	"github.com/sftseq/sftseq/seq"
)

// GraphOptions configure ConvertGraphs.
type GraphOptions struct {
	From                           []string // files of JSON lines, Arrow or Parquet
	Name                           string   // name of the data set; "" means the name of the first file
	Label, Tags                    string   // fields with the label(s) of a graph, and with a label per node
	Labels                         []string // names of the labels, in order; nil means all names in the data, sorted
	Numbers                        []string // fields of numbers to predict, instead of labels
	FeatureNames, EdgeFeatureNames []string // nil means names of a table, or f0, f1, … and e0, e1, …
	RandomWalk                     int      // random-walk steps; each adds a return probability as a feature
	SplitField                     string   // field with the split of a graph; "" means random splits
	SplitFractions                 []SplitFraction
	Seed                           uint64
	Replace                        bool              // replace a complete data set
	Note                           func(text string) // receives notes on unusual edges; may be nil

	metadataKeys   []string          // metadata keys of the first table that set names in the options
	assignedSplits map[uint64]string // splits of a small data set by graph key; nil means random splits by key
}

// ConvertGraphs writes a data set of graphs. It reads the files once to find their labels, and
// again for each split that it writes. The error for an invalid graph names the file and the line
// or row.
func ConvertGraphs(ctx context.Context, dir string, o GraphOptions) (*seq.Dataset, error) {
	if err := CheckSplitFractions(o.SplitFractions); err != nil {
		return nil, err
	}
	if err := o.nameByTable(ctx); err != nil {
		return nil, err
	}
	s, err := summarize(ctx, &o)
	if err != nil {
		return nil, err
	}
	return s.write(ctx, dir, &o)
}

// write reads the files again for each split and writes the data set.
func (s *graphSummary) write(ctx context.Context, dir string, o *GraphOptions) (*seq.Dataset, error) {
	b, err := seq.CreateDataset(dir, s.spec, o.Replace)
	if err != nil {
		return nil, err
	}
	defer b.Abort()
	for _, split := range s.splits() {
		w, err := b.Split(split)
		if err != nil {
			return nil, err
		}
		rows := 0
		err = files{o}.Each(ctx, func(x *graphlines.Row) error {
			if name, err := o.splitOf(x); err != nil || name != split {
				return err
			}
			if !x.Number(s.spec.Task, s.labels) {
				return errChanged
			}
			if err := graphlines.AppendWalk(ctx, x.Features, x.Edges, o.RandomWalk); err != nil {
				return err
			}
			rows++
			return w.Write(x.Example)
		})
		if err == nil && rows != s.rows[split] {
			err = fmt.Errorf("split %s: found %d graphs, then %d: %w", split, s.rows[split], rows, errChanged)
		}
		if err == nil {
			err = w.Close()
		}
		if err != nil {
			return nil, err
		}
	}
	provenance := map[string]any{"source": o.From, "seed": o.Seed}
	if o.RandomWalk > 0 {
		provenance["random_walk"] = o.RandomWalk
	}
	return b.Finish(provenance)
}

// errChanged is the error for files that changed after their labels were found.
var errChanged = errors.New("the files changed while they were read")

// splitOf returns the split of a graph: the value of its split field, otherwise the split assigned to
// its key, or a split drawn from the key. Equal graphs have the same key and therefore the same split.
func (o *GraphOptions) splitOf(x *graphlines.Row) (string, error) {
	if o.SplitField != "" {
		split, ok := seq.KnownSplit(x.Split)
		if !ok {
			return "", fmt.Errorf("%s: expected train, val or test, found %q", o.SplitField,
				jsonlines.Shorten(x.Split, 40))
		}
		return split, nil
	}
	key, u := o.keyOf(x)
	if split, ok := o.assignedSplits[key]; ok {
		return split, nil
	}
	last := ""
	for _, s := range o.SplitFractions {
		if s.Fraction > 0 {
			last = s.Split
		}
		if u < s.Fraction {
			return s.Split, nil
		}
		u -= s.Fraction
	}
	return last, nil // rounding may leave the sum of the fractions below 1
}

// keyOf returns the key of a graph (a hash of the seed and of the graph's nodes and edges), and a
// fraction in [0, 1) derived from the same hash.
func (o *GraphOptions) keyOf(x *graphlines.Row) (uint64, float64) {
	hash := hashOf(x)
	words := philox.Words(o.Seed, [4]uint32{0, philox.StreamSplit, uint32(hash), uint32(hash >> 32)})
	return uint64(words[0])<<32 | uint64(words[1]), float64(philox.Uniform(words[0]))
}

// assignSplits stratifies the splits of a small data set and recounts their rows. The map rows has
// the number of graphs with each key.
func (s *graphSummary) assignSplits(o *GraphOptions, strata *stratify.Strata, rows map[uint64]int) {
	minSplitRows := 0
	if slices.Equal(o.SplitFractions, DefaultSplitFractions) {
		minSplitRows = min(minRows, strata.Len()/minRowsDivisor)
	}
	if o.assignedSplits = strata.Assign(o.SplitFractions, minSplitRows); o.assignedSplits == nil {
		return
	}
	clear(s.rows)
	for key, n := range rows {
		s.rows[o.assignedSplits[key]] += n
	}
}

// classOf returns the class by which a graph's split is stratified; "" for graphs without a class.
func (s *graphSummary) classOf(x *graphlines.Row) string {
	if s.spec.Task == seq.Classification && len(x.Names) == 1 {
		return x.Names[0]
	}
	return ""
}

// hashOf returns a hash of a graph's nodes and edges, independent of their notation.
func hashOf(x *graphlines.Row) uint64 {
	h := fnv.New64a()
	var word [4]byte
	add := func(v uint32) {
		binary.LittleEndian.PutUint32(word[:], v)
		h.Write(word[:])
	}
	numbers := func(list []float32) {
		add(uint32(len(list)))
		for _, v := range list {
			add(math.Float32bits(v))
		}
	}
	add(uint32(len(x.Features)))
	for _, f := range x.Features {
		numbers(f)
	}
	for _, e := range x.Edges {
		add(uint32(e.Source))
		add(uint32(e.Target))
		numbers(e.Features)
	}
	return h.Sum64()
}

// graphSummary holds the specification, split sizes and labels of the graphs in all files.
type graphSummary struct {
	spec   seq.Spec
	rows   map[string]int   // number of rows in each split
	labels map[string]int32 // index of each label name in spec.LabelNames
}

// summarize reads all files and returns the summary of their graphs.
func summarize(ctx context.Context, o *GraphOptions) (*graphSummary, error) {
	s := &graphSummary{rows: map[string]int{}, labels: map[string]int32{}}
	field, list := "", false
	var strata stratify.Strata
	var anomalies edgeAnomalies
	keys := map[uint64]int{} // number of graphs with each key
	err := files{o}.Each(ctx, func(x *graphlines.Row) error {
		if len(s.rows) == 0 {
			if err := s.describe(o, x); err != nil {
				return err
			}
			field, list = x.Field, x.List
		}
		if x.Field != field || x.List != list {
			return fmt.Errorf("expected %s, as in the first graph, found %s", fieldName(field, list),
				fieldName(x.Field, x.List))
		}
		split, err := o.splitOf(x)
		if err != nil {
			return err
		}
		anomalies.count(x.Edges, len(x.Features))
		s.rows[split]++
		if o.SplitField == "" && strata.Len() <= stratify.MaxRows {
			key, _ := o.keyOf(x)
			strata.Add(s.classOf(x), key)
			keys[key]++
		}
		s.spec.IDs = s.spec.IDs || x.ID != ""
		for i, name := range x.Names {
			if x.Named != nil && !x.Named[i] {
				continue
			}
			if o.Labels != nil && !slices.Contains(o.Labels, name) {
				return fmt.Errorf("%s: expected one of %s, found %q", x.Field,
					jsonlines.QuoteNames(o.Labels), name)
			}
			s.labels[name] = 0
		}
		return s.check(x)
	})
	if err != nil {
		return nil, err
	}
	if len(s.rows) == 0 {
		return nil, fmt.Errorf("%s: expected one graph per line, found none", strings.Join(o.From, ", "))
	}
	if text := anomalies.describe(); text != "" && o.Note != nil {
		o.Note(text)
	}
	if o.SplitField == "" {
		s.assignSplits(o, &strata, keys)
	}
	s.spec.FeatureNames = append(slices.Clip(s.spec.FeatureNames), graphlines.WalkNames(o.RandomWalk)...)
	if err := s.spec.Validate(); err != nil {
		return nil, err
	}
	if o.Numbers == nil {
		if s.spec.LabelNames = o.Labels; o.Labels == nil {
			s.spec.LabelNames = sortedLabels(s.labels)
		}
		if s.spec.LabelNames == nil {
			return nil, fmt.Errorf("%s: expected labels, found none", strings.Join(o.From, ", "))
		}
		for i, name := range s.spec.LabelNames {
			s.labels[name] = int32(i)
		}
	}
	return s, nil
}

// fieldName returns the name of a graph's field in error messages.
func fieldName(field string, list bool) string {
	if list {
		return field + " (a list)"
	}
	return field + " (a class)"
}

// describe derives the specification of the data set from the first graph.
func (s *graphSummary) describe(o *GraphOptions, x *graphlines.Row) error {
	defaultNames := func(names []string, prefix string, width int) []string {
		if names == nil {
			names = []string{}
			for i := range width {
				names = append(names, prefix+strconv.Itoa(i))
			}
		}
		return names
	}
	width, edges := 0, len(o.EdgeFeatureNames)
	if len(x.Features) > 0 {
		width = len(x.Features[0])
	}
	if len(x.Edges) > 0 {
		edges = len(x.Edges[0].Features)
	} else if o.EdgeFeatureNames == nil {
		return fmt.Errorf("edges: the first graph has no edges, so the number of edge features is unknown: " +
			"name the edge features")
	}
	base := filepath.Base(o.From[0])
	s.spec = seq.Spec{Task: seq.Classification, Name: cmp.Or(o.Name, strings.TrimSuffix(base, filepath.Ext(base))),
		FeatureNames:     defaultNames(o.FeatureNames, "f", width),
		EdgeFeatureNames: defaultNames(o.EdgeFeatureNames, "e", edges)}
	switch {
	case o.Numbers != nil:
		s.spec.Task, s.spec.NumberNames = seq.Regression, o.Numbers
	case x.Field == o.Tags:
		s.spec.Task = seq.Tagging
	case x.List:
		s.spec.Task = seq.MultiLabel
	}
	return s.spec.Validate()
}

// check returns an error if a row cannot be written. It runs before any file is written.
func (s *graphSummary) check(x *graphlines.Row) error {
	unlabelled := x.Example
	unlabelled.Numbers = x.Amounts
	return seq.NewBlock(&s.spec).Append(unlabelled)
}

// splits returns the names of the splits that have rows, in the order train, val, test, and then by name.
func (s *graphSummary) splits() (names []string) {
	order := func(name string) int { return slices.Index([]string{"test", "val", "train"}, name) }
	for name := range s.rows {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(order(b), order(a)),
			strings.Compare(a, b))
	})
	return names
}

// sortedLabels returns the names of labels in order: by value if all are integers, otherwise as
// text.
func sortedLabels(labels map[string]int32) (names []string) {
	numeric := true
	value := func(name string) int {
		n, err := strconv.Atoi(name)
		numeric = numeric && err == nil
		return n
	}
	for name := range labels {
		names = append(names, name)
		value(name)
	}
	slices.SortFunc(names, func(a, b string) int {
		if numeric {
			return cmp.Or(cmp.Compare(value(a), value(b)), strings.Compare(a, b))
		}
		return strings.Compare(a, b)
	})
	return names
}
