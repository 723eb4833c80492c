package metrics

import (
	"slices"
	"strings"
)

// Parts measures part segmentation, where each tag is a part of a category: the points of a mug
// belong to its body or its handle. Tags are named CATEGORY/PART.
//
// The category of a shape is known from its labels. The prediction is the part with the largest
// logit among the parts of that category. Let A be the labelled points predicted as a part, and B
// the points labelled as that part. The part's intersection over union (IoU) is |A ∩ B| / |A ∪ B|,
// or 1 if both are empty. A shape's IoU is the mean over all parts of its category. If the labels
// belong to several categories, as in a scene, the parts of all these categories are candidates and
// the shape's IoU is the mean over all of them. Each category then counts the shape with the mean
// over its own parts.
//
// Source: Yi, Kim, Ceylan, Shen, Yan, Su, Lu, Huang, Sheffer and Guibas, "A Scalable Active
// Framework for Region Annotation in 3D Shape Collections", SIGGRAPH Asia 2016; Qi, Su, Mo and
// Guibas, "PointNet: Deep Learning on Point Sets for 3D Classification and Segmentation", CVPR
// 2017, section 5.1.
type Parts struct {
	categories []string  // sorted
	category   []int     // index in categories, by tag
	parts      [][]int32 // tags by category
	shapes     []int64   // number of shapes by category
	sums       []float64 // sum of the shapes' IoU by category
	shapeCount int64     // number of shapes
	sum        float64   // sum of the shapes' IoU
	hits       int64     // number of labelled points whose part is predicted correctly
	points     int64     // number of labelled points
}

// NewParts returns an empty Parts for tags with the given names. It returns nil if there are no names,
// or if a name does not have the form CATEGORY/PART.
func NewParts(names []string) *Parts {
	p := &Parts{category: make([]int, len(names))}
	for _, name := range names {
		category, ok := categoryOf(name)
		if !ok {
			return nil
		}
		p.categories = append(p.categories, category)
	}
	if len(names) == 0 {
		return nil
	}
	slices.Sort(p.categories)
	p.categories = slices.Compact(p.categories)
	p.parts = make([][]int32, len(p.categories))
	p.shapes, p.sums = make([]int64, len(p.categories)), make([]float64, len(p.categories))
	for tag, name := range names {
		category, _ := categoryOf(name)
		at, _ := slices.BinarySearch(p.categories, category)
		p.category[tag], p.parts[at] = at, append(p.parts[at], int32(tag))
	}
	return p
}

// categoryOf returns the text of a name before the last slash. It returns false without a slash, or
// if either side of the slash is empty.
func categoryOf(name string) (string, bool) {
	at := strings.LastIndexByte(name, '/')
	return name[:max(at, 0)], at > 0 && at < len(name)-1
}

// allowed returns the categories of a shape's labels in ascending order, and the parts of these
// categories, by category and then by tag. A negative label marks an unlabelled point.
func (p *Parts) allowed(labels []int32) (categories []int, parts []int32) {
	for _, label := range labels {
		if label >= 0 && !slices.Contains(categories, p.category[label]) {
			categories = append(categories, p.category[label])
		}
	}
	slices.Sort(categories)
	for _, c := range categories {
		parts = append(parts, p.parts[c]...)
	}
	return categories, parts
}

// Category returns the category of a shape's labels, several joined by commas, or "" without a
// label.
func (p *Parts) Category(labels []int32) string {
	var names []string
	categories, _ := p.allowed(labels)
	for _, c := range categories {
		names = append(names, p.categories[c])
	}
	return strings.Join(names, ", ")
}

// Predict returns the predicted part of each point: the tag with the largest logit among the parts of
// the labels' categories. Without labels, all parts are candidates. logits has one value per tag
// for each point.
func (p *Parts) Predict(labels []int32, logits []float32) (predictions []int32) {
	_, parts := p.allowed(labels)
	if parts == nil {
		for tag := range p.category {
			parts = append(parts, int32(tag))
		}
	}
	for row := range slices.Chunk(logits, len(p.category)) {
		best := parts[0]
		for _, part := range parts[1:] {
			if row[part] > row[best] {
				best = part
			}
		}
		predictions = append(predictions, best)
	}
	return predictions
}

// Add adds a shape: the label of each point, negative if missing, and the predictions of
// [Parts.Predict]. A shape without labels is ignored.
func (p *Parts) Add(labels, predictions []int32) {
	categories, parts := p.allowed(labels)
	if categories == nil {
		return
	}
	intersection, union := make([]int64, len(p.category)), make([]int64, len(p.category))
	for i, label := range labels {
		if label < 0 {
			continue
		}
		p.points++
		union[label]++
		if predictions[i] == label {
			p.hits++
			intersection[label]++
		} else {
			union[predictions[i]]++
		}
	}
	mean := func(parts []int32) (sum float64) {
		for _, part := range parts {
			if union[part] == 0 {
				sum++
			} else {
				sum += float64(intersection[part]) / float64(union[part])
			}
		}
		return sum / float64(len(parts))
	}
	p.shapeCount++
	p.sum += mean(parts)
	for _, c := range categories {
		p.shapes[c]++
		p.sums[c] += mean(p.parts[c])
	}
}

// Shapes returns the number of added shapes.
func (p *Parts) Shapes() int64 { return p.shapeCount }

// Accuracy returns the fraction of labelled points whose part is predicted correctly.
func (p *Parts) Accuracy() float64 { return float64(p.hits) / float64(max(1, p.points)) }

// InstanceIoU returns the mean IoU over the shapes.
func (p *Parts) InstanceIoU() float64 { return p.sum / float64(max(1, p.shapeCount)) }

// ClassIoU returns the mean of the categories' IoU, over the categories that occur.
func (p *Parts) ClassIoU() (sum float64) {
	categories := p.Categories()
	for _, c := range categories {
		sum += c.IoU
	}
	return sum / float64(max(1, len(categories)))
}

// CategoryScore is the score of a category.
type CategoryScore struct {
	Category string  `json:"category"`
	Parts    int     `json:"parts"`
	Shapes   int64   `json:"shapes"`
	IoU      float64 `json:"iou"` // mean IoU over the shapes
}

// Categories returns the scores of the categories that occur, sorted by name.
func (p *Parts) Categories() (out []CategoryScore) {
	for c, name := range p.categories {
		if n := p.shapes[c]; n > 0 {
			out = append(out, CategoryScore{name, len(p.parts[c]), n, p.sums[c] / float64(n)})
		}
	}
	return out
}
