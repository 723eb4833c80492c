package main

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/sftseq/sftseq/internal/provenance"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/train"
)

// describeInitialModel names a run's initial model and, if that model predicts masked tokens, its bits per
// token. It returns "" for a run that started from random weights, and for a run without provenance.
func describeInitialModel(config *sft.Config) string {
	p, err := provenance.Of(config)
	if err != nil || p.InitFrom == "" {
		return ""
	}
	dir := string(p.InitFrom)
	m, err := train.ReadMetrics(dir)
	if err != nil {
		problem := "cannot be read"
		if errors.Is(err, fs.ErrNotExist) {
			problem = "are missing"
		}
		return fmt.Sprintf("The run started from the model in %s. The metrics of that model %s.", dir, problem)
	}
	bits := ""
	for _, v := range m.Validation {
		if v.Best && v.BitsPerToken != nil {
			bits = fmt.Sprintf(", which predicted masked tokens with %.4f bits each in its validation (step %d)",
				*v.BitsPerToken, v.Step)
		}
	}
	return fmt.Sprintf("The run started from the model in %s%s. Show its training with sftseq report %s.",
		dir, bits, shellQuote(dir))
}
