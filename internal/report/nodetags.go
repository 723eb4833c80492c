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

// NodeTags are what a run's model of tagging makes of rows whose tokens have features: the points
// of clouds, the nodes of graphs. These have no order, and their tags make no spans.
type NodeTags struct {
	Data       string // the rows: a file, and which split it is
	Note       string // note for the reader, or ""
	Rows       int
	Tokens     int64         // with a label
	CutTags    int64         // labels beyond what the model reads
	Loss       float64       // mean over the tokens with a label
	Lines      []NodeTagLine // the model's, then the baselines'
	Categories []TagRow      // IoU of the parts of each category; empty if tags are not parts
	Tags       []TagRow      // F1 of each tag
	Examples   []NodeTagExample
}

// NodeTagLine has scores on tags; parts are predicted among those of the row's category.
type NodeTagLine struct {
	Of                    string
	Accuracy, MacroF1     float64
	InstanceIoU, ClassIoU *float64 // nil where tags are no parts
}

// TagRow has the scores of a tag or of the parts of a category.
type TagRow struct {
	Name   string
	Count  int64     // tokens with this label, or shapes of the category
	Scores []float64 // the model's, then the baselines'
}

// NodeTagExample is a row with the tags of its labels, and those that the model answers. Of a cloud
// of many points it has some, as far from each other in their order.
type NodeTagExample struct {
	Row             uint32
	ID              string // identifier of the row, or ""
	Length          int    // tokens of the row
	Features        [][]float32
	Edges           []seq.Edge
	Labels, Answers []int32     // one for each token of Features; a missing label is negative
	Tags            []TagCounts // tags that occur in the row, by number
}

// TagCounts are how many tokens of a row have a tag, of those with a label.
type TagCounts struct {
	Tag                   int32
	Labels, Answers, Both int
}

// NewNodeTagExample keeps of a row what is shown: of a large cloud some points, which share no memory with
// the others. Answers are of all its tokens.
func NewNodeTagExample(x *seq.Example, id string, answers []int32) NodeTagExample {
	e := NodeTagExample{Row: x.Index, ID: id, Length: len(x.Features), Edges: x.Edges}
	counts := map[int32]*TagCounts{}
	of := func(tag int32) *TagCounts {
		if counts[tag] == nil {
			counts[tag] = &TagCounts{Tag: tag}
		}
		return counts[tag]
	}
	for i, label := range x.Labels {
		if label < 0 {
			continue
		}
		of(label).Labels++
		of(answers[i]).Answers++
		if answers[i] == label {
			of(label).Both++
		}
	}
	for _, c := range counts {
		e.Tags = append(e.Tags, *c)
	}
	slices.SortFunc(e.Tags, func(a, b TagCounts) int { return cmp.Compare(a.Tag, b.Tag) })
	shown := []int(nil)
	if x.Edges == nil { // the ends of edges are places among all nodes
		shown = shownPoints(len(x.Features), &sft.Explanation{})
	} else {
		for i := range x.Features {
			shown = append(shown, i)
		}
	}
	for _, i := range shown {
		e.Features = append(e.Features, slices.Clone(x.Features[i]))
		e.Labels, e.Answers = append(e.Labels, x.Labels[i]), append(e.Answers, answers[i])
	}
	return e
}

// nodeTagsView is what a page says of them.
type nodeTagsView struct {
	*NodeTags
	Simple           []string // names of the baselines
	HiddenCategories int      // how many are not shown
	HiddenTags       int
	Rows             []nodeTagExampleView
}

// nodeTagExampleView is a row as pictures: its labels, the answers, and where they differ.
type nodeTagExampleView struct {
	Row           uint32
	ID, What      string // What is the plural name of the tokens
	Length, Shown int    // Shown is 0 where all are
	Right, Tagged int    // correctly predicted tokens, and tokens with a label
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
		v.Simple = append(v.Simple, l.Of)
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
	plane, what, near := planeOf(c, e.Features, e.Edges)
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
	add("answered by the model", func(i int) (chart.Ink, bool) { return inks[e.Answers[i]], e.Labels[i] >= 0 })
	add("wrong predictions", func(i int) (chart.Ink, bool) {
		return wrongInk, e.Labels[i] >= 0 &&
			e.Labels[i] != e.Answers[i]
	})
	return v
}
