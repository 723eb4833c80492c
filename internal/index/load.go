package index

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"

	"github.com/apache/arrow/go/v15/arrow"

	"sftseq/internal/atomicfile"
	"sftseq/seq"
)

// load reads the file into memory, drops a torn last group, and opens the file
// for more.
func (x *Index) load() error {
	if err := atomicfile.Clean(x.path); err != nil {
		return err
	}
	data, err := os.ReadFile(x.path)
	if errors.Is(err, fs.ErrNotExist) {
		return x.rewrite()
	}
	if err != nil {
		return err
	}
	stream, err := seq.NewStream(bytes.NewReader(data))
	if err != nil {
		return fmt.Errorf("not an index: %w", err)
	}
	of, err := identify(stream.Schema())
	if err != nil {
		return err
	}
	if of.Tokenizer != x.options.Tokenizer {
		return fmt.Errorf("the index is of another model, whose tokenizer is %.200s, not %.200s: its tokens mean nothing to this one", of.Tokenizer, x.options.Tokenizer)
	}
	if of.Model != x.options.Model && x.options.Embed == nil {
		return fmt.Errorf("the index is of another model (%.12s…, this one is %.12s…): --reembed computes it anew from its tokens", of.Model, x.options.Model)
	}
	x.items = newTable(of.Size)
	good, err := x.replay(stream, of.Size)
	if err != nil {
		return err
	}
	if x.dropped = int64(len(data)) - good; x.dropped > 0 {
		if at := laterGroup(data, good); at >= 0 {
			return fmt.Errorf("damaged at byte %d, with whole groups from byte %d on: restore it from a copy, or cut it to %d bytes to go without them", good, at, good)
		}
	}
	if of.Model != x.options.Model {
		return x.reembed()
	}
	if x.file, err = x.append(); err != nil {
		return err
	}
	x.size = good
	if x.dropped > 0 {
		return errors.Join(x.file.Truncate(good), x.file.Sync())
	}
	return nil
}

// append opens the file for more.
func (x *Index) append() (*os.File, error) { return os.OpenFile(x.path, os.O_RDWR|os.O_APPEND, 0) }

// identify reads whose vectors a file holds.
func identify(s *arrow.Schema) (of Options, err error) {
	value := func(key string) string {
		m := s.Metadata()
		if at := m.FindKey(key); at >= 0 {
			return m.Values()[at]
		}
		return ""
	}
	if v := value(keyFormat); v != format {
		return of, fmt.Errorf("not an index of format %s: the schema's %s is %q", format, keyFormat, v)
	}
	of.Model, of.Tokenizer = value(keyModel), value(keyTokenizer)
	if of.Size, err = strconv.Atoi(value(keySize)); err != nil || of.Size < 1 {
		return of, fmt.Errorf("%s: expected a size, found %q", keySize, value(keySize))
	}
	if want := schema(of); !s.Equal(want) {
		return of, fmt.Errorf("expected the columns %v, found %v", want.Fields(), s.Fields())
	}
	return of, nil
}

// replay makes every change of the stream and returns where the whole groups end.
func (x *Index) replay(stream *seq.Stream, size int) (good int64, err error) {
	good = stream.Offset()
	for {
		record, err := stream.Next()
		if err != nil {
			return good, nil // the end, or a torn group
		}
		rows, err := decode(record, size)
		if err != nil {
			return good, nil
		}
		for _, r := range rows {
			x.items.change(r)
		}
		x.rows += len(rows)
		good = stream.Offset()
	}
}

func (t *table) change(r row) {
	if r.removed {
		t.remove(r.ID)
	} else {
		t.put(r.Item)
	}
}

// laterGroup is where a group begins behind one that is damaged, or -1. A torn
// write is the last: every other damage is not ours to cut off.
func laterGroup(data []byte, from int64) int {
	head, _, err := seqHead(data)
	if err != nil {
		return -1
	}
	for at := int(from) + 8; at+8 <= len(data); at += 8 {
		if binary.LittleEndian.Uint32(data[at:]) != 0xFFFFFFFF {
			continue
		}
		stream, err := seq.NewStream(io.MultiReader(bytes.NewReader(head), bytes.NewReader(data[at:])))
		if err != nil {
			return -1
		}
		of, _ := identify(stream.Schema())
		if record, err := stream.Next(); err == nil {
			if rows, err := decode(record, of.Size); err == nil && len(rows) > 0 {
				return at
			}
		}
	}
	return -1
}

// seqHead cuts a stream behind its schema.
func seqHead(data []byte) (head, rest []byte, err error) {
	stream, err := seq.NewStream(bytes.NewReader(data))
	if err != nil {
		return nil, nil, err
	}
	return data[:stream.Offset()], data[stream.Offset():], nil
}

// reembed computes the vectors of another model's index anew.
func (x *Index) reembed() error {
	old := x.items
	x.items = newTable(x.options.Size)
	const atOnce = 256
	for from := 0; from < len(old.ids); from += atOnce {
		to := min(from+atOnce, len(old.ids))
		vectors, err := x.options.Embed(old.tokens[from:to])
		if err != nil {
			return fmt.Errorf("items %d to %d: %w", from, to-1, err)
		}
		for i, v := range vectors {
			x.items.put(Item{old.ids[from+i], old.tokens[from+i], v})
		}
		if x.options.Progress != nil {
			x.options.Progress(to, len(old.ids))
		}
	}
	x.dropped = 0
	return x.rewrite()
}

// rewrite writes the file with what is in the index now and nothing else, and
// goes on with that.
func (x *Index) rewrite() error {
	var size int64
	err := atomicfile.Write(x.path, func(w io.Writer) error {
		head, _, err := encode(x.options, nil)
		if err != nil {
			return err
		}
		if _, err := w.Write(head); err != nil {
			return err
		}
		size = int64(len(head))
		for from := 0; from < len(x.items.ids); from += maxBatch {
			var rows []row
			for n := from; n < min(from+maxBatch, len(x.items.ids)); n++ {
				rows = append(rows, row{Item: Item{x.items.ids[n], x.items.tokens[n], x.items.vector(n)}})
			}
			_, batch, err := encode(x.options, rows)
			if err != nil {
				return err
			}
			if _, err := w.Write(batch); err != nil {
				return err
			}
			size += int64(len(batch))
		}
		return nil
	})
	if err != nil {
		return err
	}
	file, err := x.append()
	if err != nil {
		return err
	}
	if x.file != nil {
		x.file.Close()
	}
	x.mu.Lock()
	x.file, x.size, x.rows = file, size, len(x.items.ids)
	x.mu.Unlock()
	return nil
}
