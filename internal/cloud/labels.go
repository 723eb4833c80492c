package cloud

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/sftseq/sftseq/internal/source"
	"github.com/sftseq/sftseq/seq"
)

// label sets the class of a row, or the tags of its points. It returns a skip reason if the
// specification in Options.Spec lacks one of these labels.
func (c *converter) label(r *row) *source.SkipReason {
	names := c.files.Classes
	if c.Spec != nil {
		names = c.Spec.LabelNames
	}
	switch {
	case !c.Parts:
		number := slices.Index(names, r.file.class)
		if r.example.Label = int32(number); number < 0 {
			return source.Skip("no class of the task", fmt.Errorf("%q, expected one of %s", r.file.class,
				strings.Join(names, ", ")))
		}
		return nil
	case c.Spec == nil:
		r.example.Label, r.example.Labels = seq.NoLabel, c.tags.numbersOf(r.file.class, r.parts)
		return nil
	}
	r.example.Label, r.example.Labels = seq.NoLabel, make([]int32, len(r.parts))
	numbers := map[int]int{}
	for i, part := range r.parts {
		number, met := numbers[part]
		if !met {
			name := tag{r.file.class, part}.String()
			number = slices.Index(names, name)
			if numbers[part] = number; number < 0 {
				return source.Skip("no part of the task", unknownPart(name, r.file.class, names))
			}
		}
		r.example.Labels[i] = int32(number)
	}
	return nil
}

// unknownPart returns the error for a tag, called name, that is not among the tags of the task. The error
// lists the tags of the class, if the task has any.
func unknownPart(name, class string, names []string) error {
	parts := slices.DeleteFunc(slices.Clone(names), func(x string) bool { return !strings.HasPrefix(x, class+"/") })
	if len(parts) == 0 {
		return fmt.Errorf("%q, expected a part of a class of the task, such as %s", name, names[0])
	}
	return fmt.Errorf("%q, expected one of %s", name, strings.Join(parts, ", "))
}

// renameLabels sorts the tags, or removes the classes without rows, and renumbers the labels in the
// written files.
func (c *converter) renameLabels(ctx context.Context) error {
	if c.Parts {
		names, number := c.tags.sorted()
		return c.builder.RenameLabels(ctx, names, number)
	}
	classes := slices.DeleteFunc(slices.Clone(c.files.Classes), func(name string) bool { return !c.used[name] })
	if len(classes) == len(c.files.Classes) {
		return nil
	}
	return c.builder.RenameLabels(ctx, classes,
		func(label int32) int32 { return int32(slices.Index(classes, c.files.Classes[label])) })
}
