package cloud

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/sftseq/sftseq/internal/skipped"
	"github.com/sftseq/sftseq/seq"
)

// label gives a row its class, or the parts of its points. What is not among the labels that are known
// before is a reason to leave it out.
func (c *converter) label(r *row) *skipped.Reason {
	names := c.files.Classes
	if c.Spec != nil {
		names = c.Spec.LabelNames
	}
	unknown := func(kind, name string) *skipped.Reason {
		return skipped.Because(kind, fmt.Errorf("%q, expected one of %s", name, strings.Join(names, ", ")))
	}
	switch {
	case !c.Parts:
		number := slices.Index(names, r.file.class)
		if r.example.Label = int32(number); number < 0 {
			return unknown("no class of the task", r.file.class)
		}
		return nil
	case c.Spec == nil:
		r.example.Label, r.example.Labels = seq.NoLabel, c.tags.of(r.file.class, r.parts, r.names)
		return nil
	}
	r.example.Label, r.example.Labels = seq.NoLabel, make([]int32, len(r.parts))
	numbers := map[int]int{}
	for i, part := range r.parts {
		if part == noPart {
			r.example.Labels[i] = seq.NoLabel
			continue
		}
		number, met := numbers[part]
		if !met {
			name := tagOf(r.file.class, part, r.names).String()
			number = slices.Index(names, name)
			if numbers[part] = number; number < 0 {
				return unknown("no part of the task", name)
			}
		}
		r.example.Labels[i] = int32(number)
	}
	return nil
}

// renameLabels has the labels be those that rows have, in the order of their names.
func (c *converter) renameLabels(ctx context.Context) error {
	if c.Parts {
		names, number := c.tags.sorted()
		return c.builder.RenameLabels(ctx, names, number)
	}
	classes := slices.DeleteFunc(slices.Clone(c.files.Classes), func(name string) bool { return !c.used[name] })
	if len(classes) == len(c.files.Classes) {
		return nil
	}
	return c.builder.RenameLabels(ctx, classes, func(label int32) int32 { return int32(slices.Index(classes, c.files.Classes[label])) })
}
