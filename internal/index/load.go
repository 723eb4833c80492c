package index

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"slices"
	"strconv"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sftseq/sftseq/internal/arrowipc"
	"github.com/sftseq/sftseq/internal/atomicfile"
	"github.com/sftseq/sftseq/tokenizers"
)

// describeTokenizer returns the type of a tokenizer and the beginning of its hash. The method model/info
// returns the whole hash.
func describeTokenizer(spec string) string {
	sum := sha256.Sum256([]byte(spec))
	return fmt.Sprintf("%s (%x…)", tokenizers.TypeOf([]byte(spec)), sum[:4])
}

// load reads the file into memory, moves a torn last group to a separate file, and opens the file
// for appending. It drops acknowledged changes only if both the last group and its mark are damaged.
func (x *Index) load() error {
	if err := atomicfile.Clean(x.path); err != nil {
		return err
	}
	data, err := atomicfile.ReadRegular(x.path, math.MaxInt64-1)
	if errors.Is(err, fs.ErrNotExist) {
		return x.rewrite()
	}
	if err != nil {
		return err
	}
	stream, err := arrowipc.NewStream(bytes.NewReader(data))
	if err != nil {
		return fmt.Errorf("expected an index: %w", err)
	}
	of, err := identify(stream.Schema())
	if err != nil {
		return err
	}
	if of.Tokenizer != x.options.Tokenizer {
		return fmt.Errorf("expected an index of a model with the tokenizer %s, found one with %s: serve the model "+
			"that wrote the index, or choose another --index", describeTokenizer(x.options.Tokenizer),
			describeTokenizer(of.Tokenizer))
	}
	if of.Model != x.options.Model && x.options.Embed == nil {
		return fmt.Errorf("the index belongs to another model (%.12s…, not %.12s…): --reembed recomputes the embeddings "+
			"from the tokens of the index", of.Model, x.options.Model)
	}
	x.items = newTable(of.Size)
	good, err := x.replay(stream, of.Size)
	if err != nil {
		return err
	}
	whole := marked(data, good) && int64(len(data)) == good+markBytes
	if !whole {
		if err := checkTail(data, good); err != nil {
			return err
		}
		if err := x.drop(data, good); err != nil {
			return err
		}
	}
	if of.Model != x.options.Model {
		return x.reembed()
	}
	if x.file, err = x.open(); err != nil {
		return err
	}
	if x.size = good; whole {
		return nil
	}
	if err := errors.Join(x.file.Truncate(good), x.file.Sync()); err != nil {
		return err
	}
	_, err = x.file.WriteAt(mark(good), good)
	return err
}

// open opens the file for reading and writing.
func (x *Index) open() (file, error) { return os.OpenFile(x.path, os.O_RDWR, 0) }

// checkTail returns an error if the bytes after the undamaged record batches have damage that a power cut
// cannot cause. good is the offset of these bytes. A power cut can only tear a record batch that is not
// yet synchronised.
func checkTail(data []byte, good int64) error {
	if marked(data, good) {
		return nil // the next group was not acknowledged: its beginning would have overwritten the mark
	}
	behind := ""
	if marked(data, int64(len(data))-markBytes) {
		behind = "in an acknowledged group"
	} else if at := laterGroup(data, good); at >= 0 {
		behind = fmt.Sprintf("before undamaged groups that begin at byte %d", at)
	}
	if behind == "" {
		return nil
	}
	return fmt.Errorf("damaged at byte %d, %s: restore the file from a copy, or truncate it to %d bytes, "+
		"which drops the last %d bytes", good, behind, good, int64(len(data))-good)
}

// drop writes the bytes after the undamaged record batches, which end at good, to a separate file, as an
// Arrow stream. It does not write bytes that are all zero.
func (x *Index) drop(data []byte, good int64) error {
	tail := data[good:]
	if marked(data, good) {
		tail = tail[markBytes:]
	}
	x.dropped = int64(len(tail))
	if len(bytes.Trim(tail, "\x00")) == 0 {
		return nil
	}
	head, err := headOf(data)
	if err != nil {
		return err
	}
	for n := 1; ; n++ {
		x.kept = fmt.Sprintf("%s.dropped-%d", x.path, n)
		if _, err := os.Stat(x.kept); errors.Is(err, fs.ErrNotExist) {
			break
		} else if err != nil {
			return err
		}
	}
	if err := atomicfile.Clean(x.kept); err != nil {
		return err
	}
	if err := atomicfile.WriteBytes(x.kept, slices.Concat(head, tail)); err != nil {
		return fmt.Errorf("the last group is incomplete and was not acknowledged, but its %d bytes could not be "+
			"copied to a separate file: %w", len(tail), err)
	}
	return nil
}

// identify returns the model, the tokenizer and the vector size of a file.
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
		return of, fmt.Errorf("the schema's %s: expected a vector size of at least 1, found %q", keySize,
			value(keySize))
	}
	if want := schema(of); !s.Equal(want) {
		return of, fmt.Errorf("expected the columns %v, found %v", want.Fields(), s.Fields())
	}
	return of, nil
}

// replay applies the changes in the stream up to the first torn or damaged record batch, and returns the
// offset at which the applied batches end.
func (x *Index) replay(stream *arrowipc.Stream, size int) (good int64, err error) {
	good = stream.Offset()
	for {
		record, err := stream.Next()
		if err != nil {
			return good, nil // the end of the stream or a torn group
		}
		rows, err := decode(record, size)
		if err != nil {
			return good, nil
		}
		for _, r := range rows {
			r.terms = x.splitter.split(r.Tokens)
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

// laterGroup returns the offset of the first undamaged record batch after the damage at the parameter from,
// or -1. A power cut tears only the last record batch, so damage before another one must not be dropped.
func laterGroup(data []byte, from int64) int {
	head, err := headOf(data)
	if err != nil {
		return -1
	}
	for at := int(from) + 8; at+8 <= len(data); at += 8 {
		if !bytes.HasPrefix(data[at:], []byte(arrowipc.Continuation)) {
			continue
		}
		stream, err := arrowipc.NewStream(io.MultiReader(bytes.NewReader(head), bytes.NewReader(data[at:])))
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

// headOf returns the bytes of a stream up to the end of its schema.
func headOf(data []byte) ([]byte, error) {
	stream, err := arrowipc.NewStream(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return data[:stream.Offset()], nil
}

// reembed recomputes the vectors of an index of another model.
func (x *Index) reembed() error {
	old := x.items
	x.items = newTable(x.options.Size)
	const atOnce = 256
	for from := 0; from < old.count; from += atOnce {
		to := min(from+atOnce, old.count)
		var tokens [][]int32
		for n := from; n < to; n++ {
			tokens = append(tokens, old.item(n).Tokens)
		}
		vectors, err := x.options.Embed(tokens)
		if err != nil {
			return fmt.Errorf("recomputing the embeddings of items %d to %d: %w", from, to-1, err)
		}
		for i, v := range vectors {
			x.items.put(Item{old.item(from + i).ID, tokens[i], v, old.item(from + i).terms})
		}
		if x.options.Progress != nil {
			x.options.Progress(to, old.count)
		}
	}
	return x.rewrite()
}

// rewrite replaces the file with a new file that has only the current items.
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
		for from := 0; from < x.items.count; from += maxBatch {
			var rows []row
			for n := from; n < min(from+maxBatch, x.items.count); n++ {
				rows = append(rows, row{Item: x.items.item(n)})
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
		_, err = w.Write(mark(size))
		return err
	})
	if err != nil {
		return err
	}
	file, err := x.open()
	if err != nil {
		return err
	}
	if x.file != nil {
		x.file.Close()
	}
	x.mu.Lock()
	x.file, x.size, x.rows = file, size, x.items.count
	x.mu.Unlock()
	return nil
}
