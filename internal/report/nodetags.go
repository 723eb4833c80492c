package report

import (
	"cmp"
	"fmt"
	"html/template"
	"image/color"
	"slices"

	"github.com/sftseq/sftseq/internal/chart"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
)

// NodeTags has the results of a run's tagging model on rows whose tokens have features, usually points of
// clouds or nodes of graphs. Points and nodes have no order, so their tags form no spans.
type NodeTags struct {
	Data       string // file and split of the rows
	Note       string // note for the reader, or ""
	Rows       int
	Tokens     int64         // number of labelled tokens
	CutTags    int64         // number of labels beyond the input window
	Loss       float64       // mean over labelled tokens
	Lines      []NodeTagLine // scores of the model, then of the baselines
	Categories []TagRow      // IoU of the parts of each category; empty if tags are not parts
	Tags       []TagRow      // F1 of each tag
	Examples   []NodeTagExample
}

// NodeTagLine has the scores of the model or of a baseline. If tags are parts, predictions are
// restricted to the parts of the row's category.
type NodeTagLine struct {
	Of                    string // the model or the baseline
	Accuracy, MacroF1     float64
	InstanceIoU, ClassIoU *float64 // nil if tags are not parts
}

// TagRow has the scores of a tag or of the parts of a category.
type TagRow struct {
	Name   string
	Count  int64     // tokens with this label, or shapes of this category
	Scores []float64 // scores of the model, then of the baselines
}

// NodeTagExample is a row with its labelled and predicted tags. A large cloud is reduced to maxPoints
// points at equal intervals of their indices.
type NodeTagExample struct {
	Row                 uint32
	ID                  string // identifier of the row, or ""
	Length              int    // number of tokens of the row
	Features            [][]float32
	Edges               []seq.Edge
	Labels, Predictions []int32     // one per row of Features; a missing label is negative
	Tags                []TagCounts // counts of the tags that occur in the row, sorted by tag
}

// TagCounts counts the labelled tokens of a row that have a tag as label, as prediction, and as
// both.
type TagCounts struct {
	Tag                       int32
	Labels, Predictions, Both int
}

// NewNodeTagExample returns the shown part of a row, with copies of the features. predictions has the
// predictions of all tokens.
func NewNodeTagExample(x *seq.Example, id string, predictions []int32) NodeTagExample {
	e := NodeTagExample{Row: x.Index, ID: id, Length: len(x.Features), Edges: x.Edges}
	counts := map[int32]*TagCounts{}
	countsOf := func(tag int32) *TagCounts {
		if counts[tag] == nil {
			counts[tag] = &TagCounts{Tag: tag}
		}
		return counts[tag]
	}
	for i, label := range x.Labels {
		if label < 0 {
			continue
		}
		countsOf(label).Labels++
		countsOf(predictions[i]).Predictions++
		if predictions[i] == label {
			countsOf(label).Both++
		}
	}
	for _, c := range counts {
		e.Tags = append(e.Tags, *c)
	}
	slices.SortFunc(e.Tags, func(a, b TagCounts) int { return cmp.Compare(a.Tag, b.Tag) })
	shown := []int(nil)
	if x.Edges == nil { // edges refer to indices of all nodes, so graphs are kept whole
		shown = shownPoints(len(x.Features), &sft.Explanation{})
	} else {
		for i := range x.Features {
			shown = append(shown, i)
		}
	}
	for _, i := range shown {
		e.Features = append(e.Features, slices.Clone(x.Features[i]))
		e.Labels, e.Predictions = append(e.Labels, x.Labels[i]), append(e.Predictions, predictions[i])
	}
	return e
}

// nodeTagsView is the part of a page on tags of points or nodes.
type nodeTagsView struct {
	*NodeTags
	Baselines        []string // names of the baselines
	HiddenCategories int      // number of categories that are not shown
	HiddenTags       int      // number of tags that are not shown
	Rows             []nodeTagExampleView
}

// nodeTagExampleView is a row with drawings of the labels, the predictions, and the errors.
type nodeTagExampleView struct {
	Row           uint32
	ID, What      string // What is the plural name of the tokens
	Length, Shown int    // Shown is 0 if all tokens are shown
	Right, Tagged int    // correctly predicted tokens, and labelled tokens
	Panels        []drawingPanel
	Tags          []nodeTagView
}

type nodeTagView struct {
	Name   string
	Swatch template.HTML
	TagCounts
}

// wrongInk is the colour of tokens with a wrong prediction.
var wrongInk = chart.Ink{Class: "no", Color: color.RGBA{0xb3, 0x26, 0x1e, 0xff}}

func newNodeTagsView(r Run) *nodeTagsView {
	v := &nodeTagsView{NodeTags: r.NodeTags}
	for _, l := range r.NodeTags.Lines[1:] {
		v.Baselines = append(v.Baselines, l.Of)
	}
	shorten := func(rows []TagRow) ([]TagRow, int) {
		hidden := max(0, len(rows)-maxClasses)
		if hidden > 0 {
			rows = slices.Clone(rows)
			slices.SortStableFunc(rows, func(a, b TagRow) int { return cmp.Compare(b.Count, a.Count) })
		}
		return rows[:len(rows)-hidden], hidden
	}
	short := *r.NodeTags
	short.Categories, v.HiddenCategories = shorten(short.Categories)
	short.Tags, v.HiddenTags = shorten(short.Tags)
	v.NodeTags = &short
	for i := range r.NodeTags.Examples {
		v.Rows = append(v.Rows, newNodeTagExampleView(r.Config, &r.NodeTags.Examples[i]))
	}
	return v
}

func newNodeTagExampleView(c *sft.Config, e *NodeTagExample) nodeTagExampleView {
	v := nodeTagExampleView{Row: e.Row, ID: e.ID, What: "tokens", Length: e.Length}
	inks := map[int32]chart.Ink{}
	for i, t := range e.Tags {
		style := chart.Style{Ink: chart.StyleOf(i).Ink}
		inks[t.Tag] = style.Ink
		name := fmt.Sprint(c.Label(int(t.Tag)))
		v.Tags = append(v.Tags, nodeTagView{name, chart.Swatch(style, "colour of "+name).Inline(), t})
		v.Tagged, v.Right = v.Tagged+t.Labels, v.Right+t.Both
	}
	plane, what, near := newPlane(c, e.Features, e.Edges)
	if plane == nil {
		return v
	}
	if v.What = what; len(e.Features) < e.Length {
		v.Shown = len(e.Features)
	}
	add := func(name string, ink func(i int) (chart.Ink, bool)) {
		p := chart.Plane{Name: name, Points: plane.Points, Edges: plane.Edges}
		for i, mark := range near {
			ink, drawn := ink(i)
			if !drawn {
				mark = 0
			}
			p.Marks, p.Inks = append(p.Marks, mark), append(p.Inks, ink)
		}
		v.Panels = append(v.Panels, drawingPanel{name, p.Scene()})
	}
	add("labels", func(i int) (chart.Ink, bool) { return inks[e.Labels[i]], e.Labels[i] >= 0 })
	add("predicted by the model", func(i int) (chart.Ink, bool) { return inks[e.Predictions[i]], e.Labels[i] >= 0 })
	add("wrong predictions", func(i int) (chart.Ink, bool) {
		return wrongInk, e.Labels[i] >= 0 &&
			e.Labels[i] != e.Predictions[i]
	})
	return v
}
