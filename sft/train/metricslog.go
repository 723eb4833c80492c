package train

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"

	"github.com/sftseq/sftseq/internal/atomicfile"
	"github.com/sftseq/sftseq/sft/config"
)

// metricsFile has a line for each logging interval and each evaluation.
const metricsFile = "metrics.jsonl"

// metricsLog appends lines to metrics.jsonl.
type metricsLog struct {
	file  *os.File
	bytes int64
}

// openMetrics opens the log of a run that continues from s, and cuts it to the length in s: later lines belong to steps
// that will be repeated. A log that is damaged before that is repaired with a warning: no weight depends on it.
func openMetrics(dir string, s *State) (m *metricsLog, warning string, err error) {
	path := filepath.Join(dir, metricsFile)
	text, err := atomicfile.ReadRegular(path, math.MaxInt64-1)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, "", err
	}
	kept, left := linesUpTo(text[:min(int64(len(text)), s.MetricsBytes)], s)
	if left > 0 || int64(len(kept)) != s.MetricsBytes {
		kept, left = linesUpTo(text, s) // inserted bytes may have moved lines behind the recorded size
		warning = fmt.Sprintf("%s was damaged after the checkpoint of step %d was stored: expected %d bytes of lines up to there, found %d. They are written anew, and %d lines that cannot be read are left out; the run itself is whole",
			path, s.Step, s.MetricsBytes, len(kept), left)
		if err := atomicfile.WriteBytes(path, kept); err != nil {
			return nil, "", err
		}
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, "", err
	}
	m = &metricsLog{f, int64(len(kept))}
	if err = f.Truncate(m.bytes); err == nil {
		_, err = f.Seek(m.bytes, io.SeekStart)
	}
	if err != nil {
		f.Close()
		return nil, "", err
	}
	return m, warning, nil
}

// linesUpTo are the lines that a run at s has written, and how many there are that
// cannot be read.
func linesUpTo(text []byte, s *State) (kept []byte, left int) {
	last := 0
	for line := range bytes.Lines(text) {
		place, err := new(Metrics).add(line)
		switch {
		case err != nil || line[len(line)-1] != '\n' || metricsKeys[place.Kind] == nil || place.Step < last:
			left++
		case place.Step <= s.Step && (place.Kind != "validation" || place.Step <= s.Evaluated):
			kept, last = append(kept, line...), place.Step
		}
	}
	return kept, left
}

// write appends a line. A rank that keeps no log has a nil one.
func (m *metricsLog) write(line any) error {
	if m == nil {
		return nil
	}
	text, err := json.Marshal(line)
	if err != nil {
		return err
	}
	n, err := m.file.Write(append(text, '\n'))
	m.bytes += int64(n)
	return err
}

// StepReport is a line of metrics over an interval of training. The key of the dead rows
// is the name that they had first: logs that exist have it.
type StepReport struct {
	Kind         string    `json:"kind"` // "train"
	Step         int       `json:"step"`
	Epoch        float64   `json:"epoch"`
	Loss         float64   `json:"loss"`
	Accuracy     *float64  `json:"accuracy,omitempty"` // absent where nothing is right or wrong
	LearningRate float64   `json:"learning_rate"`
	GradNorm     float64   `json:"grad_norm"` // mean, before clipping, without steps that were skipped
	Skipped      int       `json:"skipped,omitempty"`
	LossScale    float64   `json:"loss_scale,omitempty"` // after the step; absent where the loss is not scaled
	Tokens       int       `json:"tokens"`
	DeadRows     []float64 `json:"silent,omitempty"` // per layer: fraction of token and head without a positive score
	Seconds      float64   `json:"seconds"`          // since the program started
	TokensPerS   float64   `json:"tokens_per_s"`

	Ranks *RanksReport `json:"ranks,omitempty"` // nil for a single process
}

// RanksReport is how the ranks of a run have worked together over an interval.
type RanksReport struct {
	Ranks    int     `json:"ranks"`
	Busy     float64 `json:"busy"`     // ranks with micro-batches, mean over the steps
	Exchange float64 `json:"exchange"` // share of the time in exchanges, waiting for the slowest included
}

// SkipReport is a line of metrics of one step whose gradient overflowed float16:
// no update was made.
type SkipReport struct {
	Kind      string  `json:"kind"` // "skipped"
	Step      int     `json:"step"` // counted from 1, as in the other lines
	LossScale float64 `json:"loss_scale"`
}

// EvaluationReport is a line of metrics of one evaluation.
type EvaluationReport struct {
	Kind  string  `json:"kind"` // "validation"
	Step  int     `json:"step"`
	Epoch float64 `json:"epoch"`
	Rows  int     `json:"rows"`
	// mean cross-entropy, whatever weights classes have, or mean loss of a number or a label
	Loss float64 `json:"loss"`
	// BitsPerToken is the loss of masked tokens in bits, Accuracy and MacroF1 are of classes;
	// nil for other tasks.
	BitsPerToken *float64 `json:"bits_per_token,omitempty"`
	Accuracy     *float64 `json:"accuracy,omitempty"`
	MacroF1      *float64 `json:"macro_f1,omitempty"`
	SpanF1       *float64 `json:"span_f1,omitempty"` // for tagging of tokens without features; with SpanDecoding
	// SpanF1AtIoU50 counts a span as found if the intersection over union with one of its type is at
	// least 0.5.
	SpanF1AtIoU50 *float64 `json:"span_f1_iou_50,omitempty"`
	// SpanDecoding is what was chosen on these rows. Accuracy and MacroF1 are of the largest logit of each
	// token.
	SpanDecoding *config.SpanDecoding `json:"span_decoding,omitempty"`
	// InstanceIoU and ClassIoU are of parts, the tags of points that are called CATEGORY/PART.
	InstanceIoU *float64 `json:"instance_iou,omitempty"`
	ClassIoU    *float64 `json:"class_iou,omitempty"`
	// MicroF1, MacroF1 and MAP, the mean average precision, are of several labels a row, with
	// the thresholds that are best on these rows; nil where no label is in a row.
	MicroF1    *float64  `json:"micro_f1,omitempty"`
	MAP        *float64  `json:"mean_average_precision,omitempty"`
	Thresholds []float64 `json:"thresholds,omitempty"`
	// Temperature is that of the kept model's probabilities, fitted on these rows; Loss, and what else is
	// measured here, is of the logits before the division by it, and Thresholds are of the
	// probabilities after it.
	Temperature float64 `json:"temperature,omitempty"`
	// Numbers are those of a regression, MAE the mean of theirs, R2 of what they define.
	Numbers []NumberReport `json:"numbers,omitempty"`
	MAE     *float64       `json:"mae,omitempty"`
	R2      *float64       `json:"r2,omitempty"`
	// AUC is of two classes, and of more, one against the rest, where it selects; nil where
	// the labels do not define it.
	AUC        *float64 `json:"auc,omitempty"`
	SelectedBy string   `json:"selected_by,omitempty"` // absent: accuracy
	Best       bool     `json:"best"`                  // in that, so far
	Seconds    float64  `json:"seconds"`
}
