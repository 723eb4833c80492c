package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/sftseq/sftseq/internal/must"
)

// chunkedFusion trains a fusion of a linear and a chunked model of texts with a tokenizer.
func chunkedFusion(t *testing.T, tokenizer string) string {
	t.Helper()
	data := tableData(t, "reviews.csv", readText(t, proseTable(t, 60)), "--text", "review", "--label", "mood",
		"--split", "0.6,0.2,0.2", "--tokenizer", tokenizer)
	out := filepath.Join(t.TempDir(), "run")
	done(t, "", "train", "custom", "--data", data, "--device", "cpu", "--hidden", "8", "--layers", "2", "--steps", "9",
		"--chunks", "16", "--out", out)
	return out
}

// chunkedMember returns the directory of the first chunked model of a fusion.
func chunkedMember(t *testing.T, run string) string {
	t.Helper()
	members := must.Get(filepath.Glob(filepath.Join(run, "lexical*")))(t)
	return members[0]
}

// limitLength sets the maximum length of a model's rows.
func limitLength(t *testing.T, dir string, length int) {
	t.Helper()
	path := filepath.Join(dir, "config.json")
	var c map[string]any
	must.Succeed(t, json.Unmarshal([]byte(readText(t, path)), &c))
	c["max_position_embeddings"] = length
	must.Succeed(t, os.WriteFile(path, must.Get(json.Marshal(c))(t), 0o666))
}

// rowOf returns a JSON line with an id and a text.
func rowOf(t *testing.T, id, text string) string {
	return string(must.Get(json.Marshal(map[string]string{"id": id, "text": text}))(t)) + "\n"
}

// TestPredictDocument checks that a document has the output of a row with the same text. It tests a
// fusion, its chunked and its linear member, parts of one byte and of the usual size, and each output
// format except BED. The document may exceed the maximum length of a row.
func TestPredictDocument(t *testing.T) {
	const prose = "A good film of this time,\r\nand a moving story: été 好日本。 "
	for _, tokenizer := range []string{"byte", "words"} {
		run := chunkedFusion(t, tokenizer)
		chunked, linear := chunkedMember(t, run), filepath.Join(run, "linear")
		path := filepath.Join(t.TempDir(), "document.txt")
		prefix := func(n int) string { return strings.ToValidUTF8(strings.Repeat(prose, n/len(prose)+1)[:n], "") }
		for _, model := range []string{run, chunked, linear} {
			text := prefix(1000)
			writeText(t, path, text)
			want := done(t, rowOf(t, path, text), "predict", "--model", model)
			equal(t, done(t, "", "predict", "--model", model, "--document", path), want, tokenizer, model)
		}
		text := prefix(documentPartBytes + 9)
		writeText(t, path, text)
		equal(t, done(t, "", "predict", "--model", linear, "--document", path),
			done(t, rowOf(t, path, text), "predict", "--model", linear))
		text = prefix(300)
		writeText(t, path, text)
		status, out, errs := program(iotest.OneByteReader(strings.NewReader(text)), "predict", "--model", run,
			"--document", "-", "--threads", "1")
		equal(t, status, 0)
		equal(t, out+errs, done(t, rowOf(t, "-", text), "predict", "--model", run))
		equal(t, done(t, "", "embed", "--model", chunked, "--document", path),
			done(t, rowOf(t, path, text), "embed", "--model", chunked))
		table := writeText(t, filepath.Join(t.TempDir(), "row.jsonl"), rowOf(t, path, text))
		for _, format := range []string{"jsonl", "csv", "tsv", "arrow", "parquet"} {
			got, want := filepath.Join(t.TempDir(), "got."+format), filepath.Join(t.TempDir(), "want."+format)
			done(t, "", "predict", "--model", run, "--document", path, "--output", got)
			done(t, "", "predict", "--model", run, "--input", table, "--text", "text", "--id", "id", "--output", want)
			equal(t, readText(t, got), readText(t, want), format)
		}
		limitLength(t, chunked, 16)
		contains(t, failing(t, rowOf(t, path, text), "predict", "--model", chunked), "1 of 1 lines failed")
		contains(t, done(t, "", "predict", "--model", chunked, "--document", path), `"label":`)
	}
}

// TestPredictDocumentRefusals checks the errors for models, flags and paths that are unsuitable for
// documents. The missing file absent.txt shows that errors in models and flags precede its opening.
func TestPredictDocumentRefusals(t *testing.T) {
	run, absent := chunkedFusion(t, "byte"), filepath.Join(t.TempDir(), "absent.txt")
	chunked := chunkedMember(t, run)
	for model, want := range map[string]string{
		goldenPath("pre"): "--document: expected a chunked model (sftseq train custom --chunks N) or a linear model, " +
			"which read a document in parts: found a model without chunks",
		goldenPath("retrieval"): "found a model of pairs",
		goldenPath("tagging"):   "found a model of tags",
		chunked:                 absent + ": no such file",
	} {
		refuse(t, exitError, want, "", "predict", "--model", model, "--document", absent)
	}
	refuse(t, exitError, "found a linear model, which has no embeddings, expected a chunked model", "", "embed", "--model",
		filepath.Join(run, "linear"), "--document", absent)
	refuse(t, exitError, "--document", "", "embed", "--model", goldenPath("pre"), "--document", absent)
	first := []string{"predict", "--model", chunked, "--document", absent}
	refuseAll(t, exitUsage, first, []refusal{
		{"--document is one raw sequence: --input does not apply to it", []string{"--input", "x.csv"}},
		{"--text does not apply", []string{"--text", "x"}},
		{"--explain does not apply", []string{"--explain"}},
		{"--fill does not apply", []string{"--fill"}},
		{"--truncate does not apply", []string{"--truncate"}},
		{"--max-line does not apply", []string{"--max-line", "9"}},
		{"--shard does not apply", []string{"--shard", "0/2"}},
		{"--verify does not apply", []string{"--verify"}},
		{"x.jsonl: expected one of them", []string{"x.jsonl"}},
		{"--max-memory", []string{"--max-memory", "x"}},
		{"parts/: --document needs a file", []string{"--output", "parts/"}},
	})
	refuse(t, exitUsage, "--document \"\": expected a file", "", "predict", "--model", chunked, "--document", "")
	refuse(t, exitUsage, "--max-memory belongs to --document", "", "predict", "--model", chunked, "--max-memory",
		"1GiB")
	text := writeText(t, filepath.Join(t.TempDir(), "document.csv"), "a")
	refuse(t, exitError, "--output would replace --document", "", "predict", "--model", chunked, "--document", text,
		"--output", text)
	refuse(t, exitError, "expected a file, found a directory", "", "predict", "--model", chunked, "--document",
		t.TempDir())
	edit := func(tokenizer string) {
		path := filepath.Join(chunked, "config.json")
		var c map[string]any
		must.Succeed(t, json.Unmarshal([]byte(readText(t, path)), &c))
		c["tokenizer"] = json.RawMessage(tokenizer)
		must.Succeed(t, os.WriteFile(path, must.Get(json.Marshal(c))(t), 0o666))
	}
	edit(`{"type":"ids","vocab":257}`)
	refuse(t, exitError, "--document: tokenizer ids needs the whole text: a text in parts needs one of byte, dna, "+
		"pixel, words", "", "predict", "--model", chunked, "--document", absent)
}

// TestPredictDocumentErrors checks the errors for documents that cannot be read or scored, and that an
// unreadable document leaves no output file. A cancelled prediction ends with an error.
func TestPredictDocumentErrors(t *testing.T) {
	model := chunkedFusion(t, "words")
	output := filepath.Join(t.TempDir(), "out.csv")
	for want, text := range map[string]string{
		"standard input: expected at least 1 token, found an empty sequence": "",
		"standard input: not UTF-8: found byte 0xff at byte 10006":           strings.Repeat("a ", 5003) + "\xff",
	} {
		refuse(t, exitError, want, text, "predict", "--model", model, "--document", "-", "--output", output)
		noFile(t, output)
	}
	broken := io.MultiReader(strings.NewReader("a good film"), iotest.ErrReader(errors.New("a disk that fails")))
	status, out, errs := program(broken, "predict", "--model", model, "--document", "-", "--output", output)
	equal(t, fmt.Sprint(status, out), fmt.Sprint(exitError, ""))
	contains(t, errs, "sftseq: standard input: after byte 11: a disk that fails\n")
	noFile(t, output)
	status, _, errs = program(strings.NewReader(strings.Repeat("a good film ", 300_000)), "predict", "--model", model,
		"--document", "-", "--max-memory", "1MiB")
	contains(t, errs, "sftseq: standard input: --max-memory: ", "exported rows before the end of the document: raise "+
		"--max-memory, or train a model with longer --chunks")
	equal(t, status, exitError)

	ctx, cancel := context.WithCancel(t.Context())
	in, typed := io.Pipe()
	defer typed.Close()
	ended := make(chan int)
	go func() {
		ended <- run(ctx, []string{"sftseq", "predict", "--model", model, "--document", "-"}, in, io.Discard,
			io.Discard)
	}()
	must.Get(io.WriteString(typed, "a good film"))(t)
	cancel()
	if status := <-ended; status == 0 {
		t.Error("a cancelled prediction succeeded")
	}
}

// TestDocumentWarnings checks that predict refuses a compressed document, and warns of a document and a row that are
// much longer than the training rows of a member of a fusion.
func TestDocumentWarnings(t *testing.T) {
	run, text := chunkedFusion(t, "byte"), strings.Repeat("A good film of this time. ", 300)
	var compressed bytes.Buffer
	w := gzip.NewWriter(&compressed)
	must.Get(w.Write([]byte(text)))(t)
	must.Succeed(t, w.Close())
	path := writeText(t, filepath.Join(t.TempDir(), "log.gz"), compressed.String())
	refuse(t, exitError, path+" is compressed, expected the text itself: zcat "+path+" | sftseq predict … --document -",
		"", "predict", "--model", run, "--document", path)
	path = writeText(t, filepath.Join(t.TempDir(), "text.gz"), text) // not compressed
	const warning = "inputs more than 2 times as long as the longest training row"
	_, warnings := exits(t, exitOK, "", "predict", "--model", run, "--document", path)
	contains(t, warnings, warning)
	_, warnings = exits(t, exitOK, rowOf(t, "x", text), "predict", "--model", run)
	contains(t, warnings, warning)
}
