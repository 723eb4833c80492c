package config

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/sftseq/sftseq/internal/jsonlines"
	"github.com/sftseq/sftseq/internal/spectra"
)

// SpectrumTargets is the value of the JSON key type of [MaskTargets].
const SpectrumTargets = "spectra"

// targetRate is the sampling rate in Hz for which frames and bands are defined. Tokens do not
// record their rate. At another rate a frame has the same number of samples, and bands are the same
// fractions of the rate.
const targetRate = 8000

// MaskTargets replaces masked tokens by classes as the targets of the task fill-mask. Tokens are
// µ-law samples of sound, and classes are the spectra of a codebook. A sample belongs to the frame
// whose middle is nearest, and its class is the codebook's spectrum nearest to the spectrum of this
// frame. Frames have 200 samples and begin at every 80th sample. A single sample follows from its
// neighbours and carries no meaning, unlike the spectrum of speech. Spectra are computed from the
// sequence without masks, but with the noise of training ([train.Settings.TokenDeletion]).
//
// Source: Hsu et al., "HuBERT: Self-Supervised Speech Representation Learning by Masked
// Prediction of Hidden Units", IEEE/ACM Transactions on Audio, Speech, and Language
// Processing, 2021 (clusters of k-means, predicted at masked positions).
type MaskTargets struct {
	names int              // number of spectra
	book  spectra.Codebook // empty before Learn
}

// NewMaskTargets returns targets with this number of spectra, which [MaskTargets.Learn] computes.
// For 0 it returns nil: the targets are tokens.
func NewMaskTargets(names int) *MaskTargets {
	if names == 0 {
		return nil
	}
	return &MaskTargets{names: names}
}

// maskTargetsSpec is the JSON form of [MaskTargets].
type maskTargetsSpec struct {
	Type     string `json:"type"` // SpectrumTargets
	Bands    int    `json:"bands"`
	Codebook string `json:"codebook"` // base64 of little-endian float32
}

// MarshalJSON implements [json.Marshaler].
func (t *MaskTargets) MarshalJSON() ([]byte, error) {
	return json.Marshal(maskTargetsSpec{SpectrumTargets, t.book.Bands, t.book.Encode()})
}

// UnmarshalJSON implements [json.Unmarshaler].
func (t *MaskTargets) UnmarshalJSON(text []byte) error {
	var spec maskTargetsSpec
	if err := json.Unmarshal(text, &spec); err != nil {
		return fmt.Errorf("mask_targets: %w", jsonlines.TypeError(err))
	}
	if spec.Type != SpectrumTargets {
		return fmt.Errorf("mask_targets: type is %q, expected %q", spec.Type, SpectrumTargets)
	}
	book, err := spectra.Decode(spec.Codebook, spec.Bands)
	if err != nil {
		return fmt.Errorf("mask_targets: %w", err)
	}
	t.names, t.book = book.Len(), book
	return nil
}

// Len returns the number of targets, 0 for nil.
func (t *MaskTargets) Len() int {
	if t == nil {
		return 0
	}
	return t.names
}

// Learned reports whether the codebook was learned.
func (t *MaskTargets) Learned() bool { return t.book.Values != nil }

// same reports whether two models have the same targets.
func (t *MaskTargets) same(other *MaskTargets) bool {
	if t == nil || other == nil {
		return t == other
	}
	a, _ := t.MarshalJSON()
	b, _ := other.MarshalJSON()
	return string(a) == string(b)
}

// spectraOf returns the concatenated spectra of a sequence.
func spectraOf(tokens []int32, bands int) []float32 {
	samples := make([]float32, len(tokens))
	for i, t := range tokens {
		samples[i] = spectra.Sample(t)
	}
	return spectra.LogMel(samples, targetRate, bands)
}

// At returns the targets of the tokens at the given positions of a sequence.
func (t *MaskTargets) At(tokens, positions []int32) []int32 {
	names := t.book.Indices(spectraOf(tokens, t.book.Bands))
	window, hop := spectra.Frame(targetRate)
	out := make([]int32, len(positions))
	for i, p := range positions {
		frame := (int(p) - window/2 + hop/2) / hop // division truncates toward zero: the first frame is not negative
		out[i] = names[min(max(0, frame), len(names)-1)]
	}
	return out
}

// targetBands is the number of bands of a spectrum.
const targetBands = 24

// Learn computes the spectra by k-means on frames of the training split. visit passes each sequence
// to add. progress receives the number of completed iterations of k-means and the total number. If
// there are fewer frames than targets, Learn reduces the number of targets.
func (t *MaskTargets) Learn(ctx context.Context, visit func(add func(tokens []int32) error) error,
	progress func(done, all int)) error {
	learner := spectra.NewLearner(t.names, targetBands)
	err := visit(func(tokens []int32) error {
		for i, token := range tokens {
			if token < 0 || token >= spectra.Levels {
				return fmt.Errorf("token %d at index %d, expected a µ-law sample from 0 to %d",
					token, i, spectra.Levels-1)
			}
		}
		learner.Add(spectraOf(tokens, targetBands))
		return nil
	})
	if err != nil {
		return err
	}
	book, err := learner.Learn(ctx, progress)
	if err != nil {
		return err
	}
	t.names, t.book = book.Len(), book
	return nil
}
