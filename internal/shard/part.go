package shard

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"

	"github.com/sftseq/sftseq/internal/arrowipc"
	"github.com/sftseq/sftseq/internal/atomicfile"
)

// Part is the output file of a shard before it is complete.
type Part struct {
	*atomicfile.File
	path string
	key  *Key
}

// Begin creates the pending part of a key in a directory, and the directory if needed. If the part
// already exists with the same key, Begin returns a nil part and the number of rows of the existing part.
// A part with another key is an error, as are parts of a job with another number of shards.
func Begin(dir string, key *Key) (part *Part, rows int64, err error) {
	if err := atomicfile.MakeFolder(dir); err != nil {
		return nil, 0, err
	}
	shards, err := partsIn(dir)
	if err != nil {
		return nil, 0, err
	}
	for _, s := range shards {
		if s.Count != key.Shard.Count {
			return nil, 0, fmt.Errorf("%s: expected parts of %d shards, found %s: use the same N "+
				"(--shard %d/%d, or auto/%d), or another directory",
				dir, key.Shard.Count, s.File(), key.Shard.Index, s.Count, s.Count)
		}
	}
	path := filepath.Join(dir, key.Shard.File())
	if rows, err = checkExisting(path, key); err == nil {
		return nil, rows, atomicfile.Clean(path)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, 0, err
	}
	part = &Part{path: path, key: key}
	part.File, err = atomicfile.CreateKeeping(path)
	return part, 0, err
}

// checkExisting returns the number of rows of an existing part, or an error if the part has another key.
func checkExisting(path string, key *Key) (rows int64, err error) {
	found, rows, err := readPart(path)
	if err != nil {
		return 0, err
	}
	if d := found.Differences(key); d != "" {
		return 0, fmt.Errorf("%s exists, but not from this job: %s: remove it, or use another directory",
			path, d)
	}
	return rows, nil
}

// Commit renames the part to its final name, unless a part with the same key exists already, and
// removes unfinished files of other workers for the part. An existing part with another key is an error.
func (p *Part) Commit() error {
	err := p.File.CommitNew()
	if errors.Is(err, fs.ErrExist) {
		_, err = checkExisting(p.path, p.key)
	}
	if err != nil {
		return err
	}
	return atomicfile.Clean(p.path) // the part exists, so other workers' files are not needed
}

// partsIn returns the shards of the parts in a directory.
func partsIn(dir string) (shards []Shard, err error) {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if s, ok := shardOfFile(e.Name()); ok {
			shards = append(shards, s)
		}
	}
	return shards, err
}

// readPart returns the key of a part and its number of rows.
func readPart(path string) (key Key, rows int64, err error) {
	r, err := open(path)
	if err != nil {
		return key, 0, err
	}
	defer r.file.Close()
	rows, err = r.Skip(math.MaxInt64)
	return r.key, rows, damaged(path, err)
}

// damaged adds the next step for the user to an error about the content of a part. It returns errors of
// the file system unchanged.
func damaged(path string, err error) error {
	var system *fs.PathError
	if err == nil || errors.As(err, &system) {
		return err
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("the part is truncated") // without arrowipc's next step, which is to copy the file again
	}
	s, _ := shardOfFile(filepath.Base(path))
	return fmt.Errorf("%s: %w: remove it, and run shard %v again", path, err, s)
}

// reader reads a part.
type reader struct {
	*arrowipc.Stream
	key  Key
	file *os.File
}

func open(path string) (*reader, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() { // opening a pipe would wait for a writer
		return nil, damaged(path, fmt.Errorf("expected a file, found %v", info.Mode()))
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	r := &reader{file: file}
	if r.Stream, err = arrowipc.NewFileOrStream(file, io.NewSectionReader(file, 0, info.Size())); err == nil {
		r.key, err = keyOf(r.Schema())
	}
	if err != nil {
		file.Close()
		return nil, damaged(path, err)
	}
	return r, nil
}
