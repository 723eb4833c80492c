package table

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"

	"github.com/sftseq/sftseq/seq"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/parquet"
	reader "github.com/apache/arrow/go/v15/parquet/file"
	"github.com/apache/arrow/go/v15/parquet/metadata"
	"github.com/apache/arrow/go/v15/parquet/pqarrow"
	parquetschema "github.com/apache/arrow/go/v15/parquet/schema"
)

// parquetRows is the maximum number of rows per record. A record that exceeds the memory limit is read
// again in smaller records.
const parquetRows = 256

// parquetMagic is the marker at both ends of a Parquet file.
const parquetMagic = "PAR1"

// maxParquetFooter is the maximum size of the metadata in bytes, enough for many columns and row
// groups.
const maxParquetFooter = 256 << 20

// newParquet returns a reader that reads the row groups of a Parquet file in order. The file must be
// seekable.
func newParquet(path string, o Options) (_ *records, err error) {
	if path == StandardInput {
		return nil, errors.New("expected a seekable Parquet file, found standard input")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			f.Close()
		}
	}()
	defer func() {
		if p := recover(); p != nil { // damage that the checks below do not find
			err = fmt.Errorf("the file is damaged%s", panicText(p))
		}
	}()
	g := &groups{plain: plainFile{file: f}, progress: o.Progress, memory: &allocator{limit: max(maxPage, 4*o.MaxField)}}
	if err := g.open(); err != nil {
		return nil, err
	}
	schema := arrow.NewSchema(g.convertFields(g.reader.Manifest.Fields), nil)
	for i := range g.metadata.Schema.NumColumns() { // Arrow's reader returns the bytes of an interval
		if g.metadata.Schema.Column(i).ConvertedType() == parquetschema.ConvertedTypes.Interval {
			g.unknown[g.metadata.Schema.ColumnRoot(i).Name()] = "INTERVAL"
		}
	}
	for _, name := range o.Columns {
		if found := g.unknown[name]; found != "" {
			return nil, &ColumnError{name, false,
				fmt.Errorf("column %q: expected text, numbers or lists of whole numbers, "+
					"found %s (Parquet): convert the column to text", name, found)}
		}
	}
	if g.classes.labels == nil && g.kept.FindKey(seq.KeyLabelNames) < 0 {
		g.classes = cardClasses(path)
	}
	g.classes.keepIntegers(schema)
	requestedLists := o.Lists
	g.classes.addLists(&o)
	rows, err := newRecords(path, arrow.NewSchema(schema.Fields(), &g.kept), o)
	if err != nil {
		return nil, err
	}
	rows.nameClasses(g.classes, requestedLists)
	for i := range g.metadata.Schema.NumColumns() {
		if slices.Contains(o.Columns, g.metadata.Schema.ColumnRoot(i).Name()) {
			g.leaves = append(g.leaves, i)
		}
	}
	if err := g.prepare(); err != nil {
		return nil, err
	}
	if o.part != nil {
		rows.skip = g.skipTo(o.part.From)
	}
	rows.close, rows.next = f.Close, func() (arrow.Record, error) {
		record, err := g.read()
		if err != nil && err != io.EOF {
			err = fmt.Errorf("%s: row group %d: %w", path, g.next-1, err)
		}
		return record, err
	}
	return rows, nil
}

// groups reads the row groups in order. No record spans two row groups, because Arrow's reader requires
// a single dictionary per record.
type groups struct {
	plain    plainFile
	memory   *allocator
	metadata *metadata.FileMetaData
	unknown  map[string]string // logical types unknown to Arrow's reader, by column
	kept     arrow.Metadata    // file metadata to keep
	classes  hfClasses         // class names in the file's metadata or in a card
	reader   *pqarrow.FileReader
	leaves   []int                // leaf columns to read; without any, only the schema can be read
	next     int                  // next row group
	rows     pqarrow.RecordReader // nil between row groups
	batch    int64                // maximum rows per record
	returned int64                // rows of the current row group returned so far
	skip     int64                // rows already returned, to discard after a restart of the group
	rowsRead int64                // rows read so far in all groups
	progress func(bytes int64)    // may be nil
	reported int64                // bytes reported so far
}

// open reads and checks the file metadata.
func (g *groups) open() error {
	footer, err := g.plain.footer()
	if err != nil {
		return err
	}
	if g.unknown, err = checkFooter(footer); err != nil {
		return err
	}
	if g.metadata, err = metadata.NewFileMetaData(footer, nil); err != nil {
		return err
	}
	if g.metadata.IsSetEncryptionAlgorithm() {
		return errors.New("expected an unencrypted file, found an encrypted file")
	}
	// Types are derived from Parquet's own schema, because the Arrow schema that some programs embed
	// would be decoded unchecked. Metadata on ids, features and labels from data set
	// copies is kept.
	hidden := false
	var keys, texts []string
	for _, kv := range g.metadata.FileMetaData.KeyValueMetadata {
		switch {
		case kv == nil || kv.Value == nil:
		case slices.Contains([]string{seq.KeyFirstTokenID, seq.KeyFeatureNames, seq.KeyEdgeFeatureNames,
			seq.KeyLabelNames}, kv.Key) && !slices.Contains(keys, kv.Key):
			keys, texts = append(keys, kv.Key), append(texts, *kv.Value)
		case kv.Key == keyHF:
			g.classes = parseHFClasses(*kv.Value)
		case kv.Key == "ARROW:schema":
			schema, _ := base64.StdEncoding.DecodeString(*kv.Value)
			hidden = bytes.Contains(schema, []byte(seq.KeyFirstTokenID))
		}
	}
	g.kept = arrow.NewMetadata(keys, texts)
	if hidden && g.kept.FindKey(seq.KeyFirstTokenID) < 0 {
		return fmt.Errorf("found %s only in ARROW:schema, expected it in the file's key-value metadata",
			seq.KeyFirstTokenID)
	}
	g.metadata.FileMetaData.KeyValueMetadata = nil
	properties := parquet.NewReaderProperties(g.memory)
	properties.BufferedStreamEnabled = true
	whole, err := reader.NewParquetReader(&g.plain, reader.WithReadProps(properties), reader.WithMetadata(g.metadata))
	if err != nil {
		return err
	}
	g.reader, err = pqarrow.NewFileReader(whole, pqarrow.ArrowReadProperties{BatchSize: parquetRows}, g.memory)
	return err
}

// prepare checks the metadata of the wanted columns' chunks, such as types, value counts and locations,
// and makes Arrow's reader read these chunks through [plainFile].
func (g *groups) prepare() error {
	columns := g.metadata.Schema.NumColumns()
	for n, group := range g.metadata.RowGroups {
		if len(group.Columns) != columns || group.NumRows < 0 {
			return fmt.Errorf("row group %d: expected %d columns and 0 or more rows, found %d columns and %d rows", n,
				columns, len(group.Columns), group.NumRows)
		}
		var chunks []chunkLocation
		for _, i := range g.leaves {
			column := g.metadata.Schema.Column(i)
			found, name := group.Columns[i], g.metadata.Schema.ColumnRoot(i).Name()
			m := found.MetaData
			switch {
			case m == nil || found.CryptoMetadata != nil:
				return fmt.Errorf("row group %d: column %q: expected an unencrypted column, found an encrypted column", n, name)
			case found.GetFilePath() != "":
				return fmt.Errorf("row group %d: column %q: expected values in this file, found a reference to %q", n,
					name, found.GetFilePath())
			case parquet.Type(m.Type) != column.PhysicalType():
				return fmt.Errorf("row group %d: column %q: expected %s as in the schema, found %s", n, name,
					column.PhysicalType(), parquet.Type(m.Type))
			case m.NumValues < 0 || (column.MaxRepetitionLevel() == 0 || group.NumRows == 0) &&
				m.NumValues != group.NumRows:
				return fmt.Errorf("row group %d: column %q: expected %d values, found %d", n, name,
					group.NumRows, m.NumValues)
			case group.NumRows == 0: // an empty row group need not have pages
				continue
			}
			switch m.Codec {
			case codecNone, codecSnappy, codecGzip, codecBrotli, codecZstd, codecLZ4Raw:
			default:
				return fmt.Errorf("row group %d: column %q: expected the codec none, snappy, gzip, brotli, zstd or "+
					"LZ4_RAW, found %s", n, name, nameOf(codecNames, int(m.Codec)))
			}
			start := m.DataPageOffset
			if d := m.DictionaryPageOffset; d != nil && *d > 0 && *d < start {
				start = *d
			}
			if start < int64(len(parquetMagic)) || start > g.plain.end {
				return fmt.Errorf("row group %d: column %q: expected an offset from 4 to %d, found %d", n,
					name, g.plain.end, start)
			}
			chunks = append(chunks, chunkLocation{leaf: i, start: start, chunk: chunk{name: name, codec: int(m.Codec),
				kind: column.PhysicalType(), width: widthOf(column.PhysicalType(), column.TypeLength()),
				definitions: int(column.MaxDefinitionLevel()), repetitions: int(column.MaxRepetitionLevel()),
				values: m.NumValues, dictionary: -1}})
			m.Codec, m.DictionaryPageOffset, m.DataPageOffset, m.TotalCompressedSize = codecNone, nil,
				int64(i)<<chunkBits, 1<<chunkBits-1
		}
		g.plain.groups = append(g.plain.groups, chunks)
	}
	return nil
}

// widthOf returns the size in bytes of a value of a type that BYTE_STREAM_SPLIT can encode, or 0 for other
// types.
func widthOf(t parquet.Type, length int) int {
	switch t {
	case parquet.Types.Int32, parquet.Types.Float:
		return 4
	case parquet.Types.Int64, parquet.Types.Double:
		return 8
	case parquet.Types.FixedLenByteArray:
		return max(0, length)
	}
	return 0
}

// read returns the next record, or io.EOF after the last.
func (g *groups) read() (arrow.Record, error) {
	for {
		if g.rows == nil {
			if g.next == len(g.metadata.RowGroups) {
				g.report(1)
				return nil, io.EOF
			}
			g.next++
			g.returned = 0
			rows := g.metadata.RowGroups[g.next-1].NumRows
			if rows == 0 {
				continue
			}
			if err := g.begin(min(parquetRows, rows)); err != nil {
				return nil, err
			}
		}
		record, err := g.record()
		var tooLarge *allocationError
		if errors.As(err, &tooLarge) && g.batch > 1 { // retry with fewer rows: a few rows may take most of the memory
			if err := g.begin(max(1, g.batch/16)); err != nil {
				return nil, err
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		if record == nil {
			if rows := g.metadata.RowGroups[g.next-1].NumRows; g.returned != rows {
				return nil, fmt.Errorf("the file is damaged: %d of %d rows are missing", rows-g.returned, rows)
			}
			g.rows = nil
			continue
		}
		if g.skip > 0 {
			n := min(g.skip, record.NumRows())
			g.skip -= n
			record = record.NewSlice(n, record.NumRows())
		}
		if record.NumRows() > 0 {
			g.returned += record.NumRows()
			g.rowsRead += record.NumRows()
			g.report(float64(g.rowsRead) / float64(max(1, g.metadata.NumRows)))
			return record, nil
		}
	}
}

// countParquetRows returns the number of rows of a Parquet file.
func countParquetRows(path string) (rows int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the file is damaged%s", panicText(p))
		}
	}()
	g := &groups{plain: plainFile{file: f}, memory: &allocator{limit: maxPage}}
	if err := g.open(); err != nil {
		return 0, err
	}
	for n, group := range g.metadata.RowGroups {
		if group.NumRows < 0 || group.NumRows > math.MaxInt64-rows {
			return 0, fmt.Errorf("row group %d: found a row count of %d", n, group.NumRows)
		}
		rows += group.NumRows
	}
	return rows, nil
}

// skipTo skips the row groups before a row, and returns the index of the row in its group.
func (g *groups) skipTo(row int64) int64 {
	for g.next < len(g.metadata.RowGroups) && row >= g.metadata.RowGroups[g.next].NumRows {
		row -= g.metadata.RowGroups[g.next].NumRows
		g.next++
	}
	return row
}

// report reports progress up to a fraction of the file size. The fraction counts rows, because
// unwanted columns are not read and other columns may be read twice.
func (g *groups) report(fraction float64) {
	if now := int64(min(1, fraction) * float64(g.plain.size)); g.progress != nil && now > g.reported {
		g.progress(now - g.reported)
		g.reported = now
	}
}

// begin starts reading the rest of the row group in records of the given number of rows.
func (g *groups) begin(batch int64) (err error) {
	g.batch, g.skip = batch, g.returned
	g.plain.begin(g.next - 1)
	g.reader.Props.BatchSize = batch
	group := g.reader.ParquetReader().MetaData().RowGroup(g.next - 1)
	for leaf := range group.NumColumns() {
		if g.leaves != nil && !slices.Contains(g.leaves, leaf) {
			continue
		}
		// GetRecordReader would do this in goroutines, whose panics cannot be recovered here.
		if _, err := group.ColumnChunk(leaf); err != nil {
			return err
		}
	}
	g.rows, err = g.reader.GetRecordReader(context.Background(), g.leaves, []int{g.next - 1})
	return err
}

// record returns the next record of the row group, or nil after the last.
func (g *groups) record() (record arrow.Record, err error) {
	defer func() {
		if p := recover(); p != nil {
			tooLarge, ok := p.(*allocationError)
			if !ok {
				panic(p)
			}
			record, err = nil, tooLarge
		}
	}()
	for {
		more := g.rows.Next()
		if g.plain.err != nil { // Arrow's reader may take the error for the end of the file
			return nil, g.plain.err
		}
		if more && g.rows.Record().NumRows() > 0 {
			return g.rows.Record(), nil
		}
		if err := g.rows.Err(); err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		if !more {
			return nil, nil
		}
	}
}

// plainFile presents a Parquet file as uncompressed: the pages of leaf column i follow each other
// from byte i<<[chunkBits] on.
type plainFile struct {
	file   *os.File
	size   int64             // bytes of the file
	end    int64             // end of the pages
	groups [][]chunkLocation // wanted columns of each row group
	open   map[int64]*chunk
	err    error // first error
}

// chunkBits is the number of low bits of a [plainFile] offset that hold the position within a column.
const chunkBits = 40

// chunkLocation is a column chunk and its position in the file.
type chunkLocation struct {
	leaf  int
	start int64
	chunk chunk
}

// footer returns the encoded metadata of the file.
func (p *plainFile) footer() ([]byte, error) {
	info, err := p.file.Stat()
	if err != nil {
		return nil, err
	}
	p.size = info.Size()
	if p.size == 0 {
		return nil, errors.New("expected a Parquet file, which ends with " + parquetMagic + ", found an empty file")
	}
	tail := make([]byte, 4+len(parquetMagic))
	at := info.Size() - int64(len(tail))
	if at < int64(len(parquetMagic)) {
		return nil, fmt.Errorf("expected a Parquet file, which ends with %s, found a file of %d bytes", parquetMagic,
			info.Size())
	}
	if _, err := p.file.ReadAt(tail, at); err != nil {
		return nil, err
	}
	if string(tail[4:]) != parquetMagic {
		head := make([]byte, min(8, info.Size()))
		if _, err := p.file.ReadAt(head, 0); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("expected a Parquet file, which ends with %s, found %q at its end: %s", parquetMagic,
			tail[4:], otherFormat(head, "parquet"))
	}
	size := int64(binary.LittleEndian.Uint32(tail))
	if p.end = at - size; p.end < int64(len(parquetMagic)) || size > maxParquetFooter {
		return nil, fmt.Errorf("metadata: expected at most %d bytes, found a length of %d",
			min(at-int64(len(parquetMagic)), maxParquetFooter), size)
	}
	footer := make([]byte, size)
	_, err = p.file.ReadAt(footer, p.end)
	return footer, err
}

// begin opens the chunks of a row group.
func (p *plainFile) begin(group int) {
	p.open = map[int64]*chunk{}
	for _, location := range p.groups[group] {
		c := location.chunk
		c.remaining = p.end - location.start
		c.r = bufio.NewReaderSize(io.NewSectionReader(p.file, location.start, c.remaining), 1<<16)
		p.open[int64(location.leaf)] = &c
	}
}

// ReadAt reads the next bytes of a column. It supports sequential reading only.
func (p *plainFile) ReadAt(b []byte, at int64) (int, error) {
	c := p.open[at>>chunkBits]
	if c == nil || at&(1<<chunkBits-1) != c.at {
		return 0, fmt.Errorf("column %d: expected sequential reading", at>>chunkBits)
	}
	n, err := io.ReadFull(c, b)
	if err == io.ErrUnexpectedEOF { // return the bytes first: Arrow's buffer keeps an error and then stops reading
		err = nil
	}
	if err != nil && err != io.EOF && p.err == nil {
		p.err = err
	}
	return n, err
}

// Seek returns a large offset, because Arrow's reader seeks only to find the size of the file.
func (p *plainFile) Seek(int64, int) (int64, error) { return math.MaxInt64, nil }
