package table

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sftseq/sftseq/internal/arrowipc"
	"github.com/sftseq/sftseq/internal/source"
	"github.com/sftseq/sftseq/seq"
)

// newArrow returns a reader of an Arrow IPC file or stream. Both are read sequentially, except a file
// whose schema is only in the footer.
func newArrow(in *source.Source, o Options) (*records, error) {
	stream, err := arrowipc.NewFileOrStream(in, in.Whole())
	if err != nil && in.Whole() != nil {
		head := make([]byte, 8)
		n, _ := in.Whole().ReadAt(head, 0)
		magic := string(head[:n])
		switch text := otherFormat(head[:n], "arrow"); {
		case !errors.Is(err, io.ErrUnexpectedEOF):
			err = fmt.Errorf("%w: %s", err, text)
		case !strings.HasPrefix(magic, arrowMagic) && !strings.HasPrefix(magic, arrowipc.Continuation):
			err = fmt.Errorf("expected an Arrow IPC file or stream: %s", text)
		}
	}
	if err != nil {
		return nil, err
	}
	var classes hfClasses
	requestedLists := o.Lists
	if own := stream.Schema().Metadata(); !o.classesNamed && own.FindKey(seq.KeyLabelNames) < 0 {
		classes = cardClasses(in.Name)
		classes.keepIntegers(stream.Schema())
		classes.addLists(&o)
	}
	r, err := newRecords(in.Name, stream.Schema(), o)
	if err != nil {
		return nil, err
	}
	r.nameClasses(classes, requestedLists)
	if o.part != nil {
		skipped, err := stream.Skip(o.part.From)
		if err != nil {
			return nil, err
		}
		r.skip = o.part.From - skipped
	}
	r.close, r.next = in.Close, func() (arrow.Record, error) {
		record, err := stream.Next()
		if err != nil && err != io.EOF {
			err = fmt.Errorf("%s: byte %d: %w", in.Name, stream.Offset(), err)
		}
		return record, err
	}
	return r, nil
}

// arrowMagic begins an Arrow file.
const arrowMagic = "ARROW1"

// otherFormat describes the beginning of a file that cannot be read as the given format, and adds the next
// step if the content is recognised.
func otherFormat(head []byte, format string) string {
	magic := string(head)
	control := func(r rune) bool { return r == utf8.RuneError || r < ' ' && !strings.ContainsRune("\t\n\r", r) }
	for _, f := range []struct{ magic, name, format string }{
		{parquetMagic, "a Parquet", "parquet"}, {arrowMagic, "an Arrow", "arrow"},
	} {
		if !strings.HasPrefix(magic, f.magic) {
			continue
		}
		if f.format == format {
			return fmt.Sprintf("the file begins as %s file and may be truncated: copy or create it again", f.name)
		}
		return fmt.Sprintf("the file begins as %s file: read it with --format %s", f.name, f.format)
	}
	switch {
	case len(head) == 0:
		return "the file is empty"
	case !strings.ContainsFunc(magic, control):
		return fmt.Sprintf("the file begins with the text %q: name its format with --format, such as csv or "+
			"jsonl", magic)
	}
	return fmt.Sprintf("the file begins with %q", magic)
}
