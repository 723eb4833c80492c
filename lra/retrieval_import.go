package lra

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/sftseq/sftseq/internal/source"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/tokenizers"
)

// officialPairs is the prefix of the names of the official files.
const officialPairs = "new_aan_pairs"

// pairSplits lists the splits and their names in file names.
var pairSplits = []splitFile{{"train", "train"}, {"val", "eval"}, {"test", "test"}}

// idsSuffix is the suffix of files with document ids instead of texts.
const idsSuffix = ".only_ids.tsv"

// maxPair is the maximum length of a line or a document in bytes. Two papers have about 60,000 bytes.
const maxPair = 1 << 26

// convertRetrieval converts a directory of pairs, or a single file as one split. The pairs include
// their texts or refer to documents by id.
func convertRetrieval(ctx context.Context, spec seq.Spec, from, dir string,
	options ConvertOptions) (*seq.Dataset, error) {
	directory, err := isDir(from)
	if err != nil {
		return nil, err
	}
	base, files := filepath.Dir(from), []splitFile{{"", from}}
	if directory {
		base = from
		if files, err = pairFiles(from); err != nil {
			return nil, err
		}
	}
	name, ids := pairName(files[0].file)
	if name != officialPairs {
		spec.Name = name // pairs of other data are not the task's data
	}
	pairs := pairReader{ctx: ctx, options: options}
	if ids {
		options.begin(0) // the size of the documents is not known yet
		if pairs.documents, err = readDocuments(ctx, base, options); err != nil {
			return nil, err
		}
		pairs.folder = commonFolder(pairs.documents)
	}
	if directory {
		return convertFiles(spec, from, dir, options, files, pairs.rows)
	}
	return convertFile(spec, from, dir, options, pairs.rows)
}

// pairFiles returns the splits and files of pairs in a directory. The file names omit the compression suffix,
// such as .gz.
func pairFiles(dir string) (files []splitFile, err error) {
	name := officialPairs
	suffix := ".tsv"
	if _, err := findOfficial(dir, officialPairs+".train.tsv"); err != nil {
		suffix = idsSuffix
		found, _ := filepath.Glob(filepath.Join(dir, "*.train"+idsSuffix+"*"))
		if len(found) != 1 {
			return nil, fmt.Errorf("%s: expected %s.train.tsv, or one file NAME.train%s, found %d", dir,
				officialPairs, idsSuffix, len(found))
		}
		name, _ = pairName(found[0])
	}
	for _, s := range pairSplits {
		files = append(files, splitFile{s.split, name + "." + s.file + suffix})
	}
	return files, nil
}

// pairName returns the name of the data set in a file's path, and whether the file has ids instead of
// texts.
func pairName(path string) (name string, ids bool) {
	name = officialName(path)
	name, ids = strings.CutSuffix(name, idsSuffix)
	name = strings.TrimSuffix(name, ".tsv")
	for _, s := range pairSplits {
		name = strings.TrimSuffix(name, "."+s.file)
	}
	return name, ids
}

// readDocuments returns the texts of all documents by id.
func readDocuments(ctx context.Context, base string, options ConvertOptions) (map[string]string, error) {
	path := options.Documents
	if path == "" {
		var err error
		if path, err = findOfficial(base, "docs.tsv"); err != nil {
			return nil, fmt.Errorf("%w: expected the texts of the documents "+
				"(give another file, a directory or an archive with --docs)", err)
		}
	}
	documents := map[string]string{}
	directory, err := isDir(path)
	if err != nil {
		return nil, err
	}
	if directory || isArchive(path) {
		err = walkFiles(ctx, path, options.Progress, func(name string, r io.Reader) error {
			id, ok := strings.CutSuffix(name, ".txt")
			if !ok {
				return nil
			}
			text, err := io.ReadAll(io.LimitReader(r, maxPair+1))
			if err != nil {
				return fmt.Errorf("%s: %s: %w", path, name, err)
			}
			if len(text) > maxPair {
				return fmt.Errorf("%s: %s: expected at most %d bytes", path, name, maxPair)
			}
			id = strings.TrimPrefix(id, "./")
			if _, duplicate := documents[id]; duplicate {
				return fmt.Errorf("%s: %s: duplicate document", path, name)
			}
			documents[id] = string(text)
			return nil
		})
		return documents, err
	}
	return documents, forEachLine(ctx, path, options.Progress, func(line string) error {
		id, text, ok := strings.Cut(line, "\t")
		if _, duplicate := documents[id]; !ok || id == "" || duplicate {
			return errors.New("expected an id that is not a duplicate, a tab and a text")
		}
		documents[id] = text
		return nil
	})
}

// commonFolder returns the top folder that the ids of all documents share, or "".
func commonFolder(documents map[string]string) string {
	folder := ""
	for id := range documents {
		first, _, ok := strings.Cut(id, "/")
		if !ok || folder != "" && first != folder {
			return ""
		}
		folder = first
	}
	return folder
}

// isArchive reports whether the file's name has the extension of a tar archive.
func isArchive(path string) bool {
	name := officialName(path)
	return strings.HasSuffix(name, ".tar") || strings.HasSuffix(name, ".tgz")
}

// pairReader reads pairs of documents.
type pairReader struct {
	ctx       context.Context
	options   ConvertOptions
	documents map[string]string // texts by id; nil if the files of pairs include the texts
	folder    string            // common folder of the documents, which ids may omit
}

// rows returns the pairs of a file.
func (p *pairReader) rows(path string) rows {
	return rowsOf(func(row func(seq.Example) error) error {
		return forEachLine(p.ctx, path, p.options.Progress, func(line string) error {
			e, err := p.parsePair(line)
			if err != nil {
				return err
			}
			return row(e)
		})
	})
}

// parsePair parses a line: label, two ids and, unless the reader has documents, two texts.
func (p *pairReader) parsePair(line string) (e seq.Example, err error) {
	fields := strings.Split(line, "\t")
	want := 5
	if p.documents != nil {
		want = 3
	}
	if len(fields) != want {
		return e, fmt.Errorf("expected %d tab-separated fields, found %d", want, len(fields))
	}
	label, err := strconv.ParseFloat(fields[0], 64)
	if err != nil || label != 0 && label != 1 {
		return e, fmt.Errorf("expected the label 0 or 1, found %.20q", fields[0])
	}
	texts := fields[len(fields)-2:]
	if p.documents != nil {
		for i, id := range texts {
			if texts[i], err = p.document(id); err != nil {
				return e, err
			}
		}
	}
	for i, text := range texts {
		if text == "" {
			return e, fmt.Errorf("the text of %q is empty", fields[1+i])
		}
	}
	e.Label = int32(label)
	e.A, _ = tokenizers.Byte{}.Encode(texts[0]) // accepts any text, so there is no error
	e.B, _ = tokenizers.Byte{}.Encode(texts[1])
	return e, nil
}

// document returns the text of the document with an id.
func (p *pairReader) document(id string) (string, error) {
	text, ok := p.documents[id]
	if !ok && p.folder != "" {
		text, ok = p.documents[p.folder+"/"+id]
	}
	if !ok {
		return "", fmt.Errorf("document %.60q is missing among the %d documents (see --docs)", id, len(p.documents))
	}
	return text, nil
}

// forEachLine calls read for every line of a file, until read returns an error. Errors name the file, and
// the line if they concern one. An empty file is an error.
func forEachLine(ctx context.Context, path string, progress func(int64), read func(line string) error) error {
	s, err := source.Open(ctx, path, progress)
	if err != nil {
		return err
	}
	defer s.Close()
	for number := 1; ; number++ {
		line, err := readLine(s.Reader, maxPair)
		if err == io.EOF && number == 1 {
			return fmt.Errorf("%s: the file is empty", path)
		}
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = read(line)
		}
		if err != nil {
			return fmt.Errorf("%s:%d: %w", path, number, err)
		}
	}
}
