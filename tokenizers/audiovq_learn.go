package tokenizers

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
)

// audioLearner finds the spectra of a codebook by k-means (Lloyd) on some of those that
// it is given, which are drawn evenly from all (reservoir sampling).
type audioLearner struct {
	codes  int
	rate   int // of the first sound; others are passed over
	random *rand.Rand
	sample []float32
	seen   int // spectra
}

// What is learned from, and how long.
const (
	audioSample     = 1 << 16 // spectra
	audioIterations = 20
)

// newAudioLearner reads {"type": "audio-vq", "vocab": 1024}.
func newAudioLearner(spec json.RawMessage) (Learner, error) {
	config := struct {
		Type  string `json:"type"`
		Vocab int    `json:"vocab"`
	}{Vocab: audioCodes}
	if err := decode(spec, &config); err != nil {
		return nil, err
	}
	if config.Vocab < 2 || config.Vocab > 4096 {
		return nil, fmt.Errorf("tokenizer audio-vq: vocab: expected 2 to 4096, found %d", config.Vocab)
	}
	return &audioLearner{codes: config.Vocab, random: rand.New(rand.NewPCG(1, uint64(config.Vocab)))}, nil
}

// Add takes in the spectra of a WAV file.
func (l *audioLearner) Add(text string) {
	s, err := readWAV(text)
	if err != nil || l.rate != 0 && s.rate != l.rate {
		return
	}
	l.rate = s.rate
	spectra := spectraOf(s, audioBands)
	for ; len(spectra) > 0; spectra = spectra[audioBands:] {
		l.seen++
		if l.seen <= audioSample {
			l.sample = append(l.sample, spectra[:audioBands]...)
		} else if at := l.random.IntN(l.seen); at < audioSample {
			copy(l.sample[at*audioBands:], spectra[:audioBands])
		}
	}
}

// Learn finds the codebook.
func (l *audioLearner) Learn(ctx context.Context, round func(done, all int)) (json.RawMessage, error) {
	n := len(l.sample) / audioBands
	if n == 0 {
		return nil, errNothingLearned
	}
	if l.rate < 1000 {
		return nil, fmt.Errorf("expected sound of at least 1000 samples a second, found %d", l.rate)
	}
	codebook := l.beginnings(min(l.codes, n))
	sums, counts := make([]float64, len(codebook)), make([]int, len(codebook)/audioBands)
	near := make([]int, n) // the codebook's spectrum that each of the sample belongs to
	for i := range audioIterations {
		round(i, audioIterations)
		if err := l.assign(ctx, near, codebook); err != nil {
			return nil, err
		}
		clear(sums)
		clear(counts)
		for i, at := range near {
			counts[at]++
			for k, v := range l.sample[i*audioBands : (i+1)*audioBands] {
				sums[at*audioBands+k] += float64(v)
			}
		}
		for at, count := range counts {
			for k := range audioBands {
				i := at*audioBands + k
				if count > 0 {
					codebook[i] = float32(sums[i] / float64(count))
				} else { // nobody is near: begin elsewhere
					codebook[i] = l.sample[(at*7919%n)*audioBands+k]
				}
			}
		}
	}
	round(audioIterations, audioIterations)
	var bytes []byte
	for _, v := range codebook {
		bytes = binary.LittleEndian.AppendUint32(bytes, math.Float32bits(v))
	}
	return json.Marshal(audioSpec{"audio-vq", l.rate, audioBands, base64.StdEncoding.EncodeToString(bytes)})
}

// assign finds the codebook's spectrum that is nearest to each of the sample, on all
// processors.
func (l *audioLearner) assign(ctx context.Context, near []int, codebook []float32) error {
	const chunk = 1 << 10
	var next atomic.Int64
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for ctx.Err() == nil {
				from := int(next.Add(chunk)) - chunk
				if from >= len(near) {
					return
				}
				for i := from; i < min(from+chunk, len(near)); i++ {
					near[i] = nearest(codebook, l.sample[i*audioBands:(i+1)*audioBands])
				}
			}
		})
	}
	workers.Wait()
	return ctx.Err()
}

// beginnings are different spectra of the sample.
func (l *audioLearner) beginnings(codes int) []float32 {
	codebook := make([]float32, 0, codes*audioBands)
	for _, at := range l.random.Perm(len(l.sample) / audioBands)[:codes] {
		codebook = append(codebook, l.sample[at*audioBands:(at+1)*audioBands]...)
	}
	return codebook
}
