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

// metricsFile is the name of the file of metrics in a run directory: one line per logging interval,
// per evaluation and per skipped step.
const metricsFile = "metrics.jsonl"

// metricsLog appends lines to metrics.jsonl.
type metricsLog struct {
	file  *os.File
	bytes int64
}

// openMetrics opens the log of a run that continues from s and truncates it to the length in s: the
// resumed run repeats later steps. If the log is damaged before this length, openMetrics rewrites it with
// the readable lines up to the step of s. It then returns a warning instead of an error, because no weight
// depends on the log.
func openMetrics(dir string, s *State) (m *metricsLog, warning string, err error) {
	path := filepath.Join(dir, metricsFile)
	text, err := atomicfile.ReadRegular(path, math.MaxInt64-1)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, "", err
	}
	kept, unreadable := linesUpTo(text[:min(int64(len(text)), s.MetricsBytes)], s)
	if unreadable > 0 || int64(len(kept)) != s.MetricsBytes {
		kept, unreadable = linesUpTo(text, s) // inserted bytes may have moved lines beyond the recorded length
		warning = fmt.Sprintf("%s was damaged after the checkpoint of step %d: expected %d bytes of lines up to this "+
			"step, found %d; the file was rewritten with the readable lines (unreadable: %d), and the run is not affected",
			path, s.Step, s.MetricsBytes, len(kept), unreadable)
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

// linesUpTo returns the lines up to the step of s, without evaluations after s.Evaluated, and the number of
// unreadable lines: malformed or incomplete lines, lines of an unknown kind, and lines whose step is below
// the step of an earlier kept line.
func linesUpTo(text []byte, s *State) (kept []byte, unreadable int) {
	last := 0
	for line := range bytes.Lines(text) {
		header, err := new(Metrics).add(line)
		switch {
		case err != nil || line[len(line)-1] != '\n' || metricsKeys[header.Kind] == nil || header.Step < last:
			unreadable++
		case header.Step <= s.Step && (header.Kind != "validation" || header.Step <= s.Evaluated):
			kept, last = append(kept, line...), header.Step
		}
	}
	return kept, unreadable
}

// write appends a line. A nil log discards the line: ranks other than 0 have no log.
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

// StepReport is a line of metrics over an interval of training. DeadRows keeps its original key
// "silent", which existing logs have.
type StepReport struct {
	Kind         string   `json:"kind"` // "train"
	Step         int      `json:"step"`
	Epoch        float64  `json:"epoch"`
	Loss         float64  `json:"loss"`
	Accuracy     *float64 `json:"accuracy,omitempty"` // only for models that predict one class
	LearningRate float64  `json:"learning_rate"`
	GradNorm     float64  `json:"grad_norm"`            // mean before clipping, without skipped steps
	Skipped      int      `json:"skipped,omitempty"`    // skipped updates in the interval
	LossScale    float64  `json:"loss_scale,omitempty"` // after the step; absent if the loss is not scaled
	Tokens       int      `json:"tokens"`               // in the interval
	// DeadRows is, per layer, the fraction of pairs of token and head without a positive score.
	DeadRows   []float64 `json:"silent,omitempty"`
	Seconds    float64   `json:"seconds"` // since the trainer was created
	TokensPerS float64   `json:"tokens_per_s"`

	Ranks *RanksReport `json:"ranks,omitempty"` // nil for a single process
}

// RanksReport describes how the ranks of a run shared the work of an interval.
type RanksReport struct {
	Ranks    int     `json:"ranks"`
	Busy     float64 `json:"busy"`     // ranks with micro-batches, mean over the steps
	Exchange float64 `json:"exchange"` // fraction of the training time in exchanges, waiting included
}

// SkipReport is the line of metrics of a step whose update was skipped because its gradient
// overflowed float16.
type SkipReport struct {
	Kind      string  `json:"kind"`       // "skipped"
	Step      int     `json:"step"`       // counted from 1, as in the other lines
	LossScale float64 `json:"loss_scale"` // after the step
}

// EvaluationReport is the line of metrics of an evaluation.
type EvaluationReport struct {
	Kind  string  `json:"kind"` // "validation"
	Step  int     `json:"step"`
	Epoch float64 `json:"epoch"`
	Rows  int     `json:"rows"`
	// Loss is the mean cross-entropy without class weights or, for regression and multi-label, the
	// mean loss of a number or a label.
	Loss float64 `json:"loss"`
	// ScaledLoss is the loss of logits divided by the best temperature for these rows. It is nil
	// unless SelectedBy is [ScaledLoss].
	ScaledLoss *float64 `json:"scaled_loss,omitempty"`
	// BitsPerToken is the loss of masked tokens in bits. Accuracy and MacroF1 are metrics of classes
	// and tags, MacroF1 also of multi-label rows. Each is nil for the other tasks.
	BitsPerToken *float64 `json:"bits_per_token,omitempty"`
	Accuracy     *float64 `json:"accuracy,omitempty"`
	MacroF1      *float64 `json:"macro_f1,omitempty"`
	SpanF1       *float64 `json:"span_f1,omitempty"` // tagging without features; uses SpanDecoding if not nil
	// SpanF1AtIoU50 counts a span as found if its intersection over union with a span of the same
	// type is at least 0.5.
	SpanF1AtIoU50 *float64 `json:"span_f1_iou_50,omitempty"`
	// SpanDecoding holds the decoding options chosen on these rows. Accuracy and MacroF1 use the
	// largest logit of each token instead.
	SpanDecoding *config.SpanDecoding `json:"span_decoding,omitempty"`
	// InstanceIoU and ClassIoU are metrics of parts, the point tags named CATEGORY/PART.
	InstanceIoU *float64 `json:"instance_iou,omitempty"`
	ClassIoU    *float64 `json:"class_iou,omitempty"`
	// MicroF1 and MAP (mean average precision) are metrics of multi-label rows. MicroF1 and MacroF1
	// use the thresholds chosen on these rows. A metric is nil if the rows do not define it.
	MicroF1    *float64  `json:"micro_f1,omitempty"`
	MAP        *float64  `json:"mean_average_precision,omitempty"`
	Thresholds []float64 `json:"thresholds,omitempty"`
	// Temperature is fitted on these rows, and the saved model divides its logits by it; 0 means that
	// none was fitted. All metrics except ScaledLoss use undivided logits. If Temperature is not 0,
	// Thresholds apply to the probabilities of divided logits, and SpanDecoding to divided logits.
	Temperature float64 `json:"temperature,omitempty"`
	// Numbers holds the metrics of each number of a regression. MAE and R2 are means over the numbers.
	// R2 excludes numbers that are equal in all rows, and is nil if no number varies.
	Numbers []NumberReport `json:"numbers,omitempty"`
	MAE     *float64       `json:"mae,omitempty"`
	R2      *float64       `json:"r2,omitempty"`
	// AUC is the area under the ROC curve for two classes, and nil if the labels do not define it. A
	// model of more classes has the mean one-vs-rest AUC only if SelectedBy is "auc".
	AUC        *float64 `json:"auc,omitempty"`
	SelectedBy string   `json:"selected_by,omitempty"` // metric of Best; absent: accuracy
	Best       bool     `json:"best"`                  // best evaluation so far in the metric SelectedBy
	Seconds    float64  `json:"seconds"`               // since the trainer was created
}
