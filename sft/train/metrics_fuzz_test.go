package train

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
	"github.com/sftseq/sftseq/internal/testenv"
)

// FuzzMetrics checks that an error for arbitrary text in metrics.jsonl names file and line, that no
// step appears twice in a kind of line, and that the metrics are the same after writing and reading
// them again.
func FuzzMetrics(f *testing.F) {
	skip := `{"kind":"skipped","step":2,"loss_scale":1024}` + "\n"
	for _, text := range []string{
		"", skip + trainLine(2) + validationLine(2) + trainLine(4), trainLine(2) + trainLine(4)[:40],
		trainLine(4) + "\x00\x00\n" + trainLine(5),
		trainLine(2) + validationLine(2) + trainLine(4) + validationLine(2) + skip,
		`{"kind":"weather"}` + "\r\n \n" + trainLine(1),
	} {
		f.Add(text)
	}
	dir := f.TempDir()
	path := filepath.Join(dir, metricsFile)
	prefix := regexp.MustCompile(`^` + regexp.QuoteMeta(path) + `:[1-9][0-9]*: `)
	read := func(t *testing.T, text []byte) (*Metrics, error) {
		must.Succeed(t, os.WriteFile(path, text, 0o666))
		m, err := ReadMetrics(dir)
		if err != nil && !prefix.MatchString(err.Error()) {
			t.Fatalf("the error does not begin with file and line: %v", err)
		}
		return m, err
	}
	f.Fuzz(func(t *testing.T, text string) {
		defer testenv.FuzzLimits(t, 8<<20+1000*len(text))()
		m, err := read(t, []byte(text))
		if err != nil {
			return
		}
		written := metricsText(t, m)
		again, err := read(t, written)
		if err != nil || again.Torn || !bytes.Equal(metricsText(t, again), written) {
			t.Fatalf("%s was read back as %+v, %v", written, again, err)
		}
	})
}

// metricsText returns the lines of an uninterrupted run with these metrics. The test fails if the steps of
// a kind of line do not increase.
func metricsText(t *testing.T, m *Metrics) (text []byte) {
	add := func(line any) {
		b := must.Get(json.Marshal(line))(t)
		text = append(append(text, b...), '\n')
	}
	skipped, train, validation := m.Skipped, m.Train, m.Validation
	for last := [3]int{}; len(skipped)+len(train)+len(validation) > 0; {
		step := 1 << 62
		kind := -1
		for k, next := range []int{stepOf(skipped, func(r SkipReport) int { return r.Step }),
			stepOf(train, func(r StepReport) int { return r.Step }),
			stepOf(validation, func(r EvaluationReport) int { return r.Step })} {
			if next > 0 && (kind < 0 || next < step) {
				step, kind = next, k
			}
		}
		if kind < 0 || step <= last[kind] {
			t.Fatalf("kind %d: step %d after step %d", kind, step, last[kind])
		}
		switch last[kind] = step; kind {
		case 0:
			add(skipped[0])
			skipped = skipped[1:]
		case 1:
			add(train[0])
			train = train[1:]
		case 2:
			add(validation[0])
			validation = validation[1:]
		}
	}
	return text
}

// stepOf returns the step of the first line, or 0 without lines.
func stepOf[T any](lines []T, step func(T) int) int {
	if len(lines) == 0 {
		return 0
	}
	return step(lines[0])
}
