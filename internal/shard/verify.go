package shard

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sftseq/sftseq/internal/atomicfile"
)

// ManifestName is the file that says of a complete job what it has made. Programs that read
// the parts as one table pass over names that begin with _.
const ManifestName = "_manifest.json"

// ErrorColumn is the column of a part that says of rows what is wrong with them.
const ErrorColumn = "error"

// Manifest says what a complete job has made.
type Manifest struct {
	Shards  int             `json:"shards"`
	Rows    int64           `json:"rows"`
	Failed  int64           `json:"failed"` // of the rows, those with an error
	Model   string          `json:"model"`  // as in [Key]
	Input   string          `json:"input"`
	Kernels string          `json:"kernels"`
	Options json.RawMessage `json:"options"`
	Parts   []ManifestPart  `json:"parts"` // in the order of the shards
}

// ManifestPart is a part of a job.
type ManifestPart struct {
	File   string `json:"file"`
	Rows   int64  `json:"rows"`
	Failed int64  `json:"failed"`
}

// Incomplete is the error of a job of which parts are missing.
type Incomplete struct {
	Dir     string
	Count   int
	Missing []int
}

func (e *Incomplete) Error() string {
	return fmt.Sprintf("%s: %d of %d parts are missing: %s", e.Dir, len(e.Missing), e.Count, Ranges(e.Missing))
}

// Ranges are numbers that rise as sbatch --array takes them: 0,3-5.
func Ranges(numbers []int) string {
	var out []string
	for i := 0; i < len(numbers); {
		end := i
		for end+1 < len(numbers) && numbers[end+1] == numbers[end]+1 {
			end++
		}
		text := fmt.Sprint(numbers[i])
		if end > i {
			text += fmt.Sprintf("-%d", numbers[end])
		}
		out = append(out, text)
		i = end + 1
	}
	return strings.Join(out, ",")
}

// Verify reads all parts in a directory to their ends, and writes its manifest. Each must be
// there, and of one job: of one key but for the shard, and of what expected has of a key,
// which may be nothing. Count is the number of shards, 0 for what the names of the parts
// say. Seen, which may be nil, is called with each record, in the order of the shards.
// Where parts are missing, damaged or of several jobs a manifest that is there is removed; it
// stays where another job is expected than they are of.
func Verify(dir string, count int, expected Key, seen func(arrow.Record) error) (*Manifest, error) {
	count, missing, err := missingIn(dir, count)
	if err != nil {
		return nil, err
	}
	if missing == nil {
		if err := ofAnotherJob(filepath.Join(dir, Shard{0, count}.File()), &expected); err != nil {
			return nil, err
		}
	}
	if err := os.Remove(filepath.Join(dir, ManifestName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err // it is of the parts that were there
	}
	if missing != nil {
		return nil, &Incomplete{dir, count, missing}
	}
	m := &Manifest{Shards: count}
	for i := range count {
		expected.Shard = Shard{i, count}
		r, err := open(filepath.Join(dir, expected.Shard.File()))
		if err != nil {
			return nil, err
		}
		part := ManifestPart{File: expected.Shard.File()}
		if d := r.key.Differences(&expected); d != "" {
			err = notOfTheJob(r.file.Name(), d)
		} else {
			err = r.count(&part, seen)
		}
		r.file.Close()
		if err != nil {
			return nil, err
		}
		expected = r.key
		m.Parts = append(m.Parts, part)
		m.Rows += part.Rows
		m.Failed += part.Failed
	}
	m.Model, m.Input, m.Kernels, m.Options = expected.Model, expected.Input, expected.Kernels,
		json.RawMessage(expected.Options)
	if err := atomicfile.CleanAll(dir, partEnding); err != nil {
		return nil, err
	}
	return m, atomicfile.Write(filepath.Join(dir, ManifestName), func(w io.Writer) error {
		out := json.NewEncoder(w)
		out.SetIndent("", "  ")
		out.SetEscapeHTML(false)
		return out.Encode(m)
	})
}

// ofAnotherJob is an error where a part is of another job than is expected, and not where
// that cannot be told.
func ofAnotherJob(path string, expected *Key) error {
	r, err := open(path)
	if err != nil {
		return nil
	}
	defer r.file.Close()
	if d := r.key.Differences(expected, keyShard); d != "" {
		return notOfTheJob(path, d)
	}
	return nil
}

func notOfTheJob(path, differences string) error {
	return fmt.Errorf("%s: not of the job: %s", path, differences)
}

// count reads a part to its end.
func (r *reader) count(part *ManifestPart, seen func(arrow.Record) error) error {
	failed := r.Schema().FieldIndices(ErrorColumn)
	for {
		record, err := r.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return damaged(r.file.Name(), err)
		}
		part.Rows += record.NumRows()
		for _, at := range failed {
			part.Failed += record.NumRows() - int64(record.Column(at).NullN())
		}
		if seen != nil {
			if err := seen(record); err != nil {
				return fmt.Errorf("%s: %w", r.file.Name(), err)
			}
		}
	}
}

// missingIn are the shards of a job that have no part in a directory.
func missingIn(dir string, count int) (of int, missing []int, err error) {
	if count > maxCount {
		return 0, nil, fmt.Errorf("%d shards: expected at most %d", count, maxCount)
	}
	shards, err := partsIn(dir)
	if err != nil {
		return 0, nil, err
	}
	there := map[int]bool{}
	for _, s := range shards {
		if count == 0 {
			count = s.Count
		}
		if s.Count != count {
			return 0, nil, fmt.Errorf("%s: expected parts of %d shards, found %s", dir, count, s.File())
		}
		there[s.Index] = true
	}
	if count == 0 {
		return 0, nil, fmt.Errorf("%s: expected parts such as %s, found none", dir, Shard{0, 8}.File())
	}
	for i := range count {
		if !there[i] {
			missing = append(missing, i)
		}
	}
	return count, missing, nil
}
