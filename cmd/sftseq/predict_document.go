package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/sftseq/sftseq/internal/inference"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/config"
	"github.com/sftseq/sftseq/tokenizers"
)

// documentFlags returns the flags for a document of any length.
func documentFlags() []cli.Flag {
	return append(group(inputGroup, &cli.StringFlag{Name: "document",
		Usage:     "read `FILE`, raw and of any length, as one sequence, with a chunked or linear model; - is standard input",
		TakesFile: true}),
		advancedGroup(inputGroup, &cli.StringFlag{Name: "max-memory", Value: "4GiB",
			Usage: "limit the memory for the rows of a --document to `SIZE`"})...)
}

// checkDocumentFlags returns an error for flags that conflict with --document, and for --max-memory
// without it.
func checkDocumentFlags(c *cli.Context) error {
	if !c.IsSet("document") {
		if c.IsSet("max-memory") {
			return usage(c, "--max-memory belongs to --document")
		}
		return nil
	}
	if c.String("document") == "" {
		return badFlag(c, "document", "a file, or - for standard input")
	}
	for _, name := range slices.Concat([]string{"input", "truncate", "max-line", "shard", "on-error", "verify",
		"explain", "fill"}, tableNames) {
		if c.IsSet(name) {
			return usage(c, "--document is one raw sequence: --%s does not apply to it", name)
		}
	}
	if c.Args().Present() {
		return usage(c, "--document %s and %s: expected one of them", c.String("document"), c.Args().First())
	}
	if sharded(c) {
		return usage(c, "--output %s: --document needs a file", c.String("output"))
	}
	_, err := sizeFlag(c, "max-memory", 1<<20, 1<<50)
	return err
}

// predictDocument scores --document and writes its reply to --output.
func predictDocument(c *cli.Context, m *sft.Config, scorer *sft.Scorer, model *inference.Model) error {
	path := c.String("document")
	if c.Command.Name == "embed" && m.IsLinear() {
		return fmt.Errorf("--document: %s: found a linear model, which has no embeddings, expected a chunked model "+
			"(sftseq train custom --chunks N)", givenModel(c))
	}
	if err := scorer.CanScoreDocument(); err != nil {
		return fmt.Errorf("--document: %w", err)
	}
	tokenizer, err := tokenizers.Open(m.Tokenizer, tokenizerDir(c))
	if err != nil {
		return fmt.Errorf("--document: %w", err)
	}
	stream, err := tokenizers.NewStream(tokenizer)
	if err != nil {
		return fmt.Errorf("--document: %w", err)
	}
	memory, err := sizeFlag(c, "max-memory", 1<<20, 1<<50)
	if err != nil {
		return err
	}
	format, err := outputFormat(c, "output")
	if err != nil {
		return invalidFlag(c, "output", err)
	}
	if sameFile(path, c.String("output")) {
		return fmt.Errorf("%s: --output would replace --document", path)
	}
	if isGzip(path) {
		return fmt.Errorf("--document: %s is compressed, expected the text itself: zcat %s | sftseq %s … --document -",
			path, shellQuote(path), c.Command.Name)
	}
	in, name, err := openFile(c, path)
	if err != nil {
		return err
	}
	defer in.Close()
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(memory))
	file, rows, err := newTableOutput(c, model, &tableInput{inference.Table{Path: path}}, format)
	if err != nil {
		return err
	}
	if file != nil {
		defer file.Abort()
	}
	progress := newProgress(sizeOf(in), "scoring "+name, unitBytes)
	ctx, cancel := context.WithCancel(c.Context)
	defer cancel()
	d := newDocument(ctx, in, stream, progress)
	output, err := scorer.ScoreDocument(ctx, memory, d.next)
	if err != nil {
		return documentError(name, err)
	}
	progress.Finish()
	if err := rows.WriteDocument(path, d.tokens, output); err != nil {
		return err
	}
	if err := rows.Close(); err != nil || file == nil {
		return err
	}
	return file.Commit()
}

// isGzip reports whether a regular file has the name and the first bytes of a gzip file.
func isGzip(path string) bool {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || filepath.Ext(path) != ".gz" {
		return false
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	var magic [2]byte
	_, err = io.ReadFull(f, magic[:])
	return err == nil && magic == [2]byte{0x1f, 0x8b}
}

// documentError adds the name of the document to an error, and advice if --max-memory is exceeded. It
// returns a cancellation unchanged.
func documentError(name string, err error) error {
	var memory *config.MemoryError
	if errors.Is(err, context.Canceled) {
		return err
	}
	if errors.As(err, &memory) && memory.Reason == nil {
		expected := ""
		if memory.Fits > 0 {
			expected = fmt.Sprintf("expected at most %d exported rows of chunks, ", memory.Fits)
		}
		err = fmt.Errorf("--max-memory: %sfound %d exported rows before the end of the document: raise --max-memory, or "+
			"train a model with longer --chunks", expected, memory.Longest)
	}
	return fmt.Errorf("%s: %w", name, err)
}

// sizeOf returns the size of a regular file, or 0 if it is unknown.
func sizeOf(in io.Reader) int64 {
	if f, ok := in.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			return info.Size()
		}
	}
	return 0
}

// document is a text that is read and tokenized in parts.
type document struct {
	ctx      context.Context
	stream   tokenizers.Stream
	progress *progress
	parts    chan documentPart
	free     chan []byte // buffers for the next parts
	ids      []int32     // tokens of the last part
	tokens   int
	bytes    int64
}

// documentPart is a part of a text, or the error after the last part.
type documentPart struct {
	text []byte
	err  error
}

// documentPartBytes is the maximum size of a part.
const documentPartBytes = 1 << 18

// newDocument starts reading a document in the background. Reading stops when the context ends.
func newDocument(ctx context.Context, in io.Reader, stream tokenizers.Stream, progress *progress) *document {
	d := &document{ctx: ctx, stream: stream, progress: progress, parts: make(chan documentPart),
		free: make(chan []byte, 3)}
	for range cap(d.free) {
		d.free <- make([]byte, documentPartBytes)
	}
	go d.read(in)
	return d
}

func (d *document) read(in io.Reader) {
	send := func(p documentPart) bool {
		select {
		case d.parts <- p:
			return true
		case <-d.ctx.Done():
			return false
		}
	}
	for {
		select {
		case buffer := <-d.free:
			n, err := in.Read(buffer)
			if !send(documentPart{text: buffer[:n]}) || err != nil && !send(documentPart{err: err}) || err != nil {
				return
			}
		case <-d.ctx.Done():
			return
		}
	}
}

// next returns the tokens of the next part, and io.EOF with the last tokens.
func (d *document) next() ([]int32, error) {
	var p documentPart
	select {
	case p = <-d.parts:
	case <-d.ctx.Done():
		return nil, context.Cause(d.ctx)
	}
	var err error
	switch {
	case p.err == io.EOF:
		d.ids, err = d.stream.End(d.ids[:0])
	case p.err != nil:
		return nil, fmt.Errorf("after byte %d: %w", d.bytes, p.err)
	default:
		d.ids, err = d.stream.Append(d.ids[:0], p.text)
		d.bytes += int64(len(p.text))
		d.progress.Add(int64(len(p.text)))
		d.free <- p.text[:cap(p.text)]
	}
	if err != nil {
		return nil, err
	}
	d.tokens += len(d.ids)
	return d.ids, p.err
}
