package train

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sort"

	"github.com/sftseq/sftseq/internal/atomicfile"
)

// Metrics is the content of a run's metrics.jsonl, in the order of the steps.
type Metrics struct {
	Train      []StepReport
	Validation []EvaluationReport
	Skipped    []SkipReport
	Torn       bool // whether the last line is incomplete: a run is writing it, or was killed
}

// maxMetricsLine limits the length of a line in bytes. A line with the maximum number of layers is
// shorter.
const maxMetricsLine = 1 << 20

// ReadMetrics reads the metrics of a run directory, also during the run. If a resumed run repeated
// steps, their new lines replace the old lines of these and later steps. An error in a line names the
// file and the line. The error for a missing file wraps fs.ErrNotExist.
func ReadMetrics(dir string) (*Metrics, error) {
	path := filepath.Join(dir, metricsFile)
	f, err := atomicfile.OpenRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	m := &Metrics{}
	r := bufio.NewReaderSize(f, maxMetricsLine)
	for n := 1; ; n++ {
		line, err := r.ReadSlice('\n')
		last := err == io.EOF
		if errors.Is(err, bufio.ErrBufferFull) {
			err = fmt.Errorf("the line has more than %d bytes", maxMetricsLine)
		}
		if err != nil && !last {
			return nil, fmt.Errorf("%s:%d: %w", path, n, err)
		}
		if len(bytes.TrimSpace(line)) > 0 {
			_, err = m.add(line)
			m.Torn = last && err != nil
			if err != nil && !last {
				return nil, fmt.Errorf("%s:%d: %w", path, n, err)
			}
		}
		if last {
			return m, nil
		}
	}
}

// metricsKeys lists the required keys of each kind of line. The reader ignores lines of other
// kinds.
var metricsKeys = map[string][]string{
	"skipped":    {"step", "loss_scale"},
	"train":      {"step", "epoch", "loss", "learning_rate", "grad_norm", "tokens_per_s"},
	"validation": {"step", "epoch", "loss", "rows"},
}

// lineHeader holds the keys that all kinds of lines share.
type lineHeader struct {
	Kind string `json:"kind"`
	Step int    `json:"step"`
}

// add parses a line and appends it to m, after dropping the lines that it replaces. It ignores lines
// with an unknown kind.
func (m *Metrics) add(line []byte) (header lineHeader, err error) {
	var found map[string]json.RawMessage
	if err := json.Unmarshal(line, &found); err != nil {
		return header, fmt.Errorf("expected a JSON object: %w", err)
	}
	if err := json.Unmarshal(line, &header); err != nil {
		return header, err
	}
	if header.Kind == "" {
		return header, errors.New(`the key "kind" is missing`)
	}
	for _, key := range metricsKeys[header.Kind] {
		if found[key] == nil || string(found[key]) == "null" {
			return header, fmt.Errorf("line of kind %s: the key %q is missing", header.Kind, key)
		}
	}
	if header.Step < 1 && metricsKeys[header.Kind] != nil {
		return header, fmt.Errorf("step %d, expected at least 1", header.Step)
	}
	switch header.Kind {
	case "skipped":
		return header, appendLine(m, &m.Skipped, line, header.Step, 0)
	case "train":
		return header, appendLine(m, &m.Train, line, header.Step, 1)
	case "validation":
		return header, appendLine(m, &m.Validation, line, header.Step, 2)
	}
	return header, nil
}

// rewind drops the lines of later steps, and the lines of this step with the given or a higher order.
// A step's lines are written in the order skipped (0), train (1), validation (2).
func (m *Metrics) rewind(step, order int) {
	end := func(lines, kindOrder int, stepAt func(int) int) int {
		return sort.Search(lines,
			func(i int) bool { return stepAt(i) > step || stepAt(i) == step && kindOrder >= order })
	}
	m.Skipped = m.Skipped[:end(len(m.Skipped), 0, func(i int) int { return m.Skipped[i].Step })]
	m.Train = m.Train[:end(len(m.Train), 1, func(i int) int { return m.Train[i].Step })]
	m.Validation = m.Validation[:end(len(m.Validation), 2, func(i int) int { return m.Validation[i].Step })]
}

// appendLine decodes a line, drops the lines that it replaces ([Metrics.rewind]) and appends it to lines. A line that
// cannot be decoded replaces nothing.
func appendLine[T any](m *Metrics, lines *[]T, text []byte, step, order int) error {
	var line T
	if err := json.Unmarshal(text, &line); err != nil {
		return err
	}
	m.rewind(step, order)
	*lines = append(*lines, line)
	return nil
}
