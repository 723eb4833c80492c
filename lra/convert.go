package lra

import (
	"cmp"
	"errors"
	"fmt"
	"iter"

	"github.com/sftseq/sftseq/seq"
)

// rows is a sequence of rows with their errors. It ends after an error.
type rows = iter.Seq2[seq.Example, error]

// errStopped ends reading when the caller of rowsOf stops the iteration.
var errStopped = errors.New("no more rows are wanted")

// rowsOf returns the rows that read passes to its callback, followed by read's error.
func rowsOf(read func(row func(seq.Example) error) error) rows {
	return func(yield func(seq.Example, error) bool) {
		err := read(func(e seq.Example) error {
			if !yield(e, nil) {
				return errStopped
			}
			return nil
		})
		if err != nil && !errors.Is(err, errStopped) {
			yield(seq.Example{}, err)
		}
	}
}

// splitFile is the name of a split and of its file.
type splitFile struct{ split, file string }

// importer returns the rows of a file.
type importer func(path string) rows

// convertFiles converts a directory with a file for each split, plain or compressed, to a data set.
// If from is a single file, convertFiles adds it as a split to the data set in dir.
func convertFiles(spec seq.Spec, from, dir string, options ConvertOptions, files []splitFile,
	read importer) (*seq.Dataset, error) {
	directory, err := isDir(from)
	if err != nil {
		return nil, err
	}
	if !directory {
		return convertFile(spec, from, dir, options, read)
	}
	if options.Split != "" {
		return nil, errSplitOfDirectory(from, options.Split)
	}
	var found []splitFile
	size := int64(0)
	for _, f := range files {
		path, err := findOfficial(from, f.file)
		if err != nil {
			return nil, err
		}
		found = append(found, splitFile{f.split, path})
		size += sizeOf(path)
	}
	options.begin(size)
	b, err := seq.CreateDataset(dir, spec, options.Replace)
	if err != nil {
		return nil, err
	}
	defer b.Abort()
	return writeFiles(b, options, found, read)
}

// errSplitOfDirectory returns the error for a split name given with a directory, whose files
// determine the splits.
func errSplitOfDirectory(dir, split string) error {
	return fmt.Errorf("%s: split %q: expected a single file, found a directory, whose files determine "+
		"the splits (omit the split)", dir, split)
}

// convertFile converts a file and adds it as a split to a data set, which may have other splits.
func convertFile(spec seq.Spec, from, dir string, options ConvertOptions, read importer) (*seq.Dataset, error) {
	options.begin(sizeOf(from))
	b, err := seq.ExtendDataset(dir, spec, options.Replace)
	if err != nil {
		return nil, err
	}
	defer b.Abort()
	return writeFiles(b, options, []splitFile{{cmp.Or(options.Split, "test"), from}}, read)
}

// writeFiles writes each file as a split and completes the data set. The provenance names the files.
func writeFiles(b *seq.DatasetBuilder, options ConvertOptions, files []splitFile, read importer) (*seq.Dataset, error) {
	provenance := map[string]any{}
	for _, f := range files {
		if err := writeSplit(b, f.split, read(f.file)); err != nil {
			return nil, err
		}
		entry := map[string]any{"source": f.file}
		if options.NoVerify {
			entry["labels_verified"] = false
		}
		provenance[f.split] = entry
	}
	return b.Finish(provenance)
}

// writeSplit writes rows as a split.
func writeSplit(b *seq.DatasetBuilder, name string, read rows) error {
	out, err := b.Split(name)
	if err != nil {
		return err
	}
	defer out.Abort()
	for e, err := range read {
		if err != nil {
			return err
		}
		if err := out.Write(e); err != nil {
			return err
		}
	}
	return out.Close()
}

// limit returns the next n rows. It yields an error if there are fewer.
func limit(next func() (seq.Example, error, bool), n int) rows {
	return func(yield func(seq.Example, error) bool) {
		for i := range n {
			e, err, ok := next()
			if !ok {
				err = fmt.Errorf("expected %d rows, found %d", n, i)
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// withProgress returns the rows of read and calls progress(1) for each row.
func withProgress(read rows, progress func(int64)) rows {
	return func(yield func(seq.Example, error) bool) {
		for e, err := range read {
			if err == nil && progress != nil {
				progress(1)
			}
			if !yield(e, err) {
				return
			}
		}
	}
}
