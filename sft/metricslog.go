package sft

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// metricsFile has a line for each logging interval and each evaluation.
const metricsFile = "metrics.jsonl"

// metricsLog appends lines to metrics.jsonl.
type metricsLog struct {
	file  *os.File
	bytes int64
}

// openMetrics opens the log and cuts it to the length that a checkpoint knows:
// later lines belong to work that will be done again.
func openMetrics(dir string, bytes int64) (*metricsLog, error) {
	path := filepath.Join(dir, metricsFile)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.Size() < bytes {
		err = fmt.Errorf("%s: %d bytes, the checkpoint was written after %d", path, info.Size(), bytes)
	}
	if err == nil {
		err = f.Truncate(bytes)
	}
	if err == nil {
		_, err = f.Seek(bytes, 0)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return &metricsLog{f, bytes}, nil
}

func (m *metricsLog) write(line any) error {
	text, err := json.Marshal(line)
	if err != nil {
		return err
	}
	n, err := m.file.Write(append(text, '\n'))
	m.bytes += int64(n)
	return err
}

// StepReport is a line of metrics over an interval of training.
type StepReport struct {
	Kind         string    `json:"kind"` // "train"
	Step         int       `json:"step"`
	Epoch        float64   `json:"epoch"`
	Loss         float64   `json:"loss"`
	Accuracy     float64   `json:"accuracy"`
	LearningRate float64   `json:"learning_rate"`
	GradNorm     float64   `json:"grad_norm"` // mean, before clipping, without steps that were skipped
	Skipped      int       `json:"skipped,omitempty"`
	LossScale    float64   `json:"loss_scale,omitempty"` // after the step; absent where the loss is not scaled
	Tokens       int       `json:"tokens"`
	Silent       []float64 `json:"silent,omitempty"` // per layer: fraction of token and head without a positive score
	Seconds      float64   `json:"seconds"`          // since the program started
	TokensPerS   float64   `json:"tokens_per_s"`
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
	Kind     string  `json:"kind"` // "validation"
	Step     int     `json:"step"`
	Epoch    float64 `json:"epoch"`
	Rows     int     `json:"rows"`
	Loss     float64 `json:"loss"` // mean cross-entropy, whatever weights classes have
	Accuracy float64 `json:"accuracy"`
	MacroF1  float64 `json:"macro_f1"`
	// AUC is of two classes, and of more, one against the rest, where it selects; nil where
	// the labels do not define it.
	AUC        *float64 `json:"auc,omitempty"`
	SelectedBy string   `json:"selected_by,omitempty"` // absent: accuracy
	Best       bool     `json:"best"`                  // in that, so far
	Seconds    float64  `json:"seconds"`
}
