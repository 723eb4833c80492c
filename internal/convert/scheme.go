package convert

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sftseq/sftseq/internal/table"
)

// Tags of spans are read in BIO. Other schemes also mark the last token of a span and spans of one
// token; without them two spans side by side would be one. They are converted:
//
//	BIOES  B-X I-X E-X, S-X
//	BILOU  B-X I-X L-X, U-X
//	BMES   B-X M-X E-X, S-X; also with W-X
//
// Source: Ratinov, Roth, "Design Challenges and Misconceptions in Named Entity Recognition", CoNLL 2009.

// Marks of a scheme's tags, before the hyphen.
const (
	begins  = "BSUW" // a span
	ends    = "ELSUW"
	single  = "SUW" // a span of one token
	onlyBIO = "BI"
	marks   = "BIMELSUW"
)

// markOf is the mark of a tag and its type.
func markOf(tag string) (mark, kind string, ok bool) {
	mark, kind, ok = strings.Cut(tag, "-")
	return mark, kind, ok && len(mark) == 1 && strings.Contains(marks, mark) && kind != ""
}

// MarkEnds reports whether tags are of a scheme that marks the ends of spans: whether a type occurs in
// B-X or I-X and with another mark, or all tags but O are of spans of one token.
func MarkEnds(tags []string) bool {
	found := map[string]string{} // marks of each type
	others, singles := 0, 0
	for _, tag := range tags {
		mark, kind, ok := markOf(tag)
		switch {
		case !ok && tag != outside && tag != "":
			others++
		case ok && strings.Contains(single, mark):
			singles++
			found[kind] += mark
		case ok:
			found[kind] += mark
			others++
		}
	}
	for _, of := range found {
		if strings.ContainsAny(of, onlyBIO) && strings.Trim(of, onlyBIO) != "" {
			return true
		}
	}
	return singles > 0 && others == 0 && slices.Contains(tags, outside)
}

// toBIO converts the tags of a row. A span ends at the mark of its end, and another begins where the
// type changes, even without the mark of a beginning.
func toBIO(tags []string) {
	open := "" // type of the span that the next token may go on with
	for i, tag := range tags {
		mark, kind, ok := markOf(tag)
		if !ok {
			open = ""
			continue
		}
		if open != kind || strings.Contains(begins, mark) {
			tags[i] = "B-" + kind
		} else {
			tags[i] = "I-" + kind
		}
		if open = kind; strings.Contains(ends, mark) {
			open = ""
		}
	}
}

// namesInBIO are the names of labels in BIO, each once.
func namesInBIO(names []string) (out []string) {
	for _, name := range names {
		if mark, kind, ok := markOf(name); ok && strings.Contains(begins, mark) {
			name = "B-" + kind
		} else if ok {
			name = "I-" + kind
		}
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// decideMarks looks at the tags of the first rows, before a worker has them, unless the names of
// labels have said what they are.
func (c *converter) decideMarks(rows []table.Row) {
	if c.marksDecided || c.options.Tags == "" {
		return
	}
	found := map[string]bool{}
	for i := range rows {
		if rows[i].Err != nil || len(rows[i].Values) <= c.tagsAt {
			continue
		}
		tags, _ := c.writtenTags(rows[i].Values[c.tagsAt])
		for _, tag := range tags {
			if !found[tag] {
				found[strings.Clone(tag)] = true
			}
		}
	}
	c.decideMarksBy(slices.Sorted(maps.Keys(found)))
}

func (c *converter) decideMarksBy(tags []string) {
	c.marksDecided = true
	if c.marksEnds = MarkEnds(tags); c.marksEnds {
		c.skipped.Note(fmt.Sprintf("column %s: the tags mark the ends of spans (BIOES, BILOU): E-X, L-X and M-X become I-X; S-X, U-X and W-X become B-X", c.options.Tags))
	}
}

// checkMarks refuses tags that are found to mark the ends of spans after rows were read as BIO.
func (c *converter) checkMarks(names []string) error {
	if c.options.Tags == "" || c.marksEnds || !MarkEnds(names) {
		return nil
	}
	return fmt.Errorf("column %s: the first rows have tags in BIO, later ones also mark the ends of spans (BIOES, BILOU): name all tags as they are in the files (--labels B-X,I-X,E-X,S-X,O)", c.options.Tags)
}
