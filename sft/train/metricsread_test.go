package train

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sftseq/sftseq/internal/must"
)

func trainLine(step int) string {
	return fmt.Sprintf(`{"kind":"train","step":%d,"epoch":0.5,"loss":%d.5,"accuracy":0.25,"learning_rate":0.001,"grad_norm":2,"tokens":64,"seconds":1,"tokens_per_s":64}`+"\n", step, step)
}

func validationLine(step int) string {
	return fmt.Sprintf(`{"kind":"validation","step":%d,"epoch":0.5,"rows":10,"loss":%d,"accuracy":0.5,"best":true,"seconds":2}`+"\n", step, step)
}

func readMetricsText(t *testing.T, text string) (*Metrics, error) {
	t.Helper()
	dir := t.TempDir()
	must.Succeed(t, os.WriteFile(filepath.Join(dir, metricsFile), []byte(text), 0o666))
	return ReadMetrics(dir)
}

// listLines lists a run's lines as letter and step: t for train, v for validation, s for skipped.
func listLines(m *Metrics) (out string) {
	for _, r := range m.Skipped {
		out += fmt.Sprintf("s%d ", r.Step)
	}
	for _, r := range m.Train {
		out += fmt.Sprintf("t%d ", r.Step)
	}
	for _, r := range m.Validation {
		out += fmt.Sprintf("v%d ", r.Step)
	}
	return strings.TrimSpace(out)
}

// TestReadMetrics checks that every step is read once even if the file repeats it, and that an
// incomplete last line is reported.
func TestReadMetrics(t *testing.T) {
	skip := func(step int) string { return fmt.Sprintf(`{"kind":"skipped","step":%d,"loss_scale":1024}`+"\n", step) }
	for _, c := range []struct {
		name, text, want string
		torn             bool
	}{
		{"empty", "", "", false},
		{"one of each", skip(2) + trainLine(2) + validationLine(2) + trainLine(4), "s2 t2 t4 v2", false},
		{"a kind of later versions", `{"kind":"weather"}` + "\n\n" + trainLine(2), "t2", false},
		{"without the last newline", trainLine(2) + strings.TrimSpace(trainLine(4)), "t2 t4", false},
		{"torn", trainLine(2) + trainLine(4)[:40], "t2", true},
		{"torn by zeros", trainLine(2) + "\x00\x00", "t2", true},
		{"resumed before a line", trainLine(2) + validationLine(2) + trainLine(4) + validationLine(4) + trainLine(4),
			"t2 t4 v2", false},
		{"resumed before an evaluation",
			trainLine(2) + validationLine(2) + trainLine(4) + validationLine(2) + trainLine(4), "t2 t4 v2", false},
		{"resumed before a skipped step", skip(1) + skip(2) + trainLine(2) + validationLine(2) + skip(2) + trainLine(2),
			"s1 s2 t2", false},
	} {
		m, err := readMetricsText(t, c.text)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := listLines(m); got != c.want || m.Torn != c.torn {
			t.Errorf("%s: %q, torn %v; want %q, %v", c.name, got, m.Torn, c.want, c.torn)
		}
	}
	m, err := readMetricsText(t, trainLine(3))
	if err != nil || m.Train[0].Loss != 3.5 || m.Train[0].TokensPerS != 64 {
		t.Errorf("metrics %+v, error %v; want loss 3.5, 64 tokens per second", m, err)
	}
}

// TestReadMetricsRefuses checks that the errors for malformed lines name the file and the line.
func TestReadMetricsRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"{\n": "expected a JSON object",
		strings.Replace(trainLine(4), `"loss":4.5,`, "", 1):          `kind train: the key "loss" is missing`,
		strings.Replace(trainLine(4), `"loss":4.5`, `"loss":"x"`, 1): "loss",
		strings.Replace(trainLine(4), `"step":4`, `"step":0`, 1):     "step 0, expected at least 1",
		`{"step":4}` + "\n": `"kind" is missing`,
		`{"kind":"train","x":"` + strings.Repeat("x", maxMetricsLine) + "\"}\n": "more than 1048576 bytes",
	} {
		_, err := readMetricsText(t, trainLine(2)+text+trainLine(6))
		if err == nil || !strings.Contains(err.Error(), metricsFile+":2: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v, want line 2 and %q", text, err, want)
		}
	}
	torn := strings.TrimSuffix(strings.Replace(trainLine(4), `"loss":4.5`, `"loss":"x"`, 1), "\n")
	m, err := readMetricsText(t, trainLine(2)+trainLine(4)+trainLine(6)+torn)
	if err != nil || !m.Torn || len(m.Train) != 3 {
		t.Errorf("got %+v, error %v; want the three lines before a last line that replaces none", m, err)
	}
	if _, err := ReadMetrics(t.TempDir()); !os.IsNotExist(err) {
		t.Errorf("a directory without metrics: error %v, want fs.ErrNotExist", err)
	}
}
