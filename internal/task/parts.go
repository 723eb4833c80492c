package task

import "github.com/sftseq/sftseq/internal/metrics"

// PartScores has the scores on tags that are parts of categories. Predictions are restricted to the
// parts of each row's category.
type PartScores struct {
	Shapes      int64                   `json:"shapes"`
	Accuracy    float64                 `json:"accuracy"` // accuracy over points
	InstanceIoU float64                 `json:"instance_iou"`
	ClassIoU    float64                 `json:"class_iou"`
	Categories  []metrics.CategoryScore `json:"categories"`
}

// partScoresOf returns the scores of parts, or nil for other tags.
func partScoresOf(p *metrics.Parts) *PartScores {
	if p == nil {
		return nil
	}
	return &PartScores{p.Shapes(), p.Accuracy(), p.InstanceIoU(), p.ClassIoU(), p.Categories()}
}

// writeParts prints the scores of parts.
func (r *TagsResult) writeParts(out *text) {
	out.add("%-40s  %8s  %12s  %9s", "among the parts of the shape's category", "accuracy", "instance IoU", "class IoU")
	out.add("%-40s  %7.2f%%  %12.4f  %9.4f", "model", 100*r.Parts.Accuracy, r.Parts.InstanceIoU, r.Parts.ClassIoU)
	for _, b := range r.Baselines {
		out.add("%-40s  %7.2f%%  %12.4f  %9.4f", b.Name, 100*b.Accuracy, *b.InstanceIoU, *b.ClassIoU)
	}
	out.add("accuracy of the model among the parts of all categories: %.2f%%", 100*r.Accuracy)
	out.add("%-40s  %8s  %8s  %8s", "category", "parts", "shapes", "IoU")
	for _, s := range r.Parts.Categories[:min(len(r.Parts.Categories), maxTypes)] {
		out.add("%-40s  %8d  %8d  %8.4f", s.Category, s.Parts, s.Shapes, s.IoU)
	}
	if more := len(r.Parts.Categories) - maxTypes; more > 0 {
		out.add("and %d more categories (--json has all)", more)
	}
}
