package shard

import (
	"cmp"
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

// ManifestName is the name of the file that describes a complete job. Spark and Arrow data sets, which read
// the parts as one table, skip names that begin with _.
const ManifestName = "_manifest.json"

// ErrorColumn is the name of a part's column with the error of each row; null means no error.
const ErrorColumn = "error"

// Manifest describes the output of a complete job.
type Manifest struct {
	Shards  int             `json:"shards"`
	Rows    int64           `json:"rows"`
	Failed  int64           `json:"failed"` // number of rows with an error
	Model   string          `json:"model"`  // as in [Key], like Input, Kernels and Options
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

// Incomplete is the error for a job with missing parts.
type Incomplete struct {
	Dir     string
	Count   int   // number of shards
	Missing []int // indices of the shards without a part
}

func (e *Incomplete) Error() string {
	if len(e.Missing) == 1 {
		return fmt.Sprintf("%s: 1 of %d parts is missing: shard %d", e.Dir, e.Count, e.Missing[0])
	}
	return fmt.Sprintf("%s: %d of %d parts are missing: shards %s", e.Dir, len(e.Missing), e.Count, Ranges(e.Missing))
}

// Ranges formats ascending numbers like sbatch --array: 0,3-5.
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

// Verify reads all parts in a directory to their ends and writes the manifest. All parts must exist
// and belong to one job: their keys are equal except for the shard, and match the non-empty fields of the
// expected key. count is the number of shards; 0 takes it from the names of the parts. seen, which may be
// nil, is called with each record in the order of the shards. For a complete job, Verify also removes the
// temporary files of killed workers.
//
// Verify removes an existing manifest before it reads the parts, or if parts are missing. It keeps the
// manifest if parts have different numbers of shards, or if the first part does not match the expected key.
func Verify(dir string, count int, expected Key, seen func(arrow.Record) error) (*Manifest, error) {
	count, missing, err := missingIn(dir, count)
	if err != nil {
		return nil, err
	}
	if missing == nil {
		if err := checkJob(filepath.Join(dir, Shard{0, count}.File()), &expected); err != nil {
			return nil, err
		}
	}
	if err := os.Remove(filepath.Join(dir, ManifestName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err // the old manifest describes earlier parts
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
			err = fmt.Errorf("%s: not part of the job of the parts before it: %s: remove the part that does not "+
				"belong to the job, and run its shard again", r.file.Name(), d)
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

// checkJob returns an error if a part belongs to another job than expected. It returns nil if the part
// cannot be read, because Verify reports this error later.
func checkJob(path string, expected *Key) error {
	r, err := open(path)
	if err != nil {
		return nil
	}
	defer r.file.Close()
	if d := r.key.Differences(expected, keyShard); d != "" {
		return fmt.Errorf("%s: not part of the job: %s: use the arguments of the job", path, d)
	}
	return nil
}

// count counts the rows of a part and its rows with errors, and calls seen, if any, with each record.
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

// missingIn returns the number of shards of a job, and the shards without a part in the directory.
func missingIn(dir string, count int) (shards int, missing []int, err error) {
	if count > maxCount {
		return 0, nil, fmt.Errorf("%d shards: expected at most %d", count, maxCount)
	}
	parts, err := partsIn(dir)
	if err != nil {
		return 0, nil, err
	}
	exists := map[int]bool{}
	for _, s := range parts {
		if count = cmp.Or(count, s.Count); s.Count != count {
			return 0, nil, fmt.Errorf("%s: expected parts of %d shards, found %s", dir, count, s.File())
		}
		exists[s.Index] = true
	}
	if count == 0 {
		return 0, nil, fmt.Errorf("%s: expected parts such as %s, found none", dir, Shard{0, 8}.File())
	}
	for i := range count {
		if !exists[i] {
			missing = append(missing, i)
		}
	}
	return count, missing, nil
}
