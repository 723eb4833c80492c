// Command logs uses sftseq as a library. It trains a model on lines of a log, classifies and embeds
// some lines, and fine-tunes the model on lines of another program's log.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/sftseq/sftseq/device"
	"github.com/sftseq/sftseq/lra"
	"github.com/sftseq/sftseq/seq"
	"github.com/sftseq/sftseq/sft"
	"github.com/sftseq/sftseq/sft/train"
	"github.com/sftseq/sftseq/tokenizers"
)

func main() {
	dir, err := os.MkdirTemp("", "sftseq-")
	if err == nil {
		err = run(context.Background(), dir)
		os.RemoveAll(dir)
	}
	if err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, dir string) error {
	dev, err := device.Open(device.Options{Name: "auto"}) // a GPU if available
	if err != nil {
		return err
	}
	defer dev.Close()

	// Train: write a data set, choose the settings, and train in a run directory.
	web, err := makeData(filepath.Join(dir, "web-data"), webLine)
	if err != nil {
		return err
	}
	const steps = 240
	preset, err := lra.CustomRun(web.Manifest, lra.RunFlags{Steps: steps}).Preset("quick")
	if err != nil {
		return err
	}
	config, settings := preset.Config, preset.Settings
	// A small model keeps the example fast.
	config.NumLayers, config.HiddenSize, config.SinusoidDim, config.IntermediateSize = 1, 32, 32, 64
	settings.EvalEvery, settings.LogEvery = steps/2, steps/2
	if err := config.DescribeData(web.Spec()); err != nil {
		return err
	}
	fmt.Println("training on the log of a web server")
	model, err := trainModel(ctx, filepath.Join(dir, "web"), dev, sft.NewModel(&config, settings.Seed), settings, web)
	if err != nil {
		return err
	}

	scorer, err := sft.NewScorer(model, dev)
	if err != nil {
		return err
	}
	defer scorer.Close()
	lines := []string{"GET /cart 200 in 12 ms", "GET /cart 503 in 9000 ms"}
	tokens, err := encode(lines)
	if err != nil {
		return err
	}

	// Classify.
	for i, line := range lines {
		prediction, err := scorer.Classify(ctx, tokens[i])
		if err != nil {
			return err
		}
		best := sft.Argmax(prediction.Logits)
		fmt.Printf("%q is %v, with probability %.3f\n", line, model.Config.Label(best),
			sft.Probabilities(prediction.Logits)[best])
	}

	// Embed: one vector for each sequence.
	vectors, err := scorer.Embeddings(ctx, tokens)
	if err != nil {
		return err
	}
	fmt.Printf("cosine of their embeddings: %.3f\n", cosine(vectors[0], vectors[1]))

	// Fine-tune: start from the trained weights, with a lower learning rate.
	mail, err := makeData(filepath.Join(dir, "mail-data"), mailLine)
	if err != nil {
		return err
	}
	settings.LearningRate /= 4
	fmt.Println("fine-tuning on the log of a mail server")
	_, err = trainModel(ctx, filepath.Join(dir, "mail"), dev, model, settings, mail)
	return err
}

// trainModel trains m and returns the model with the best validation score.
func trainModel(ctx context.Context, dir string, dev device.Device, m *sft.Model, s train.Settings,
	data *seq.Dataset) (*sft.Model, error) {
	trainSplit, err := data.Open("train")
	if err != nil {
		return nil, err
	}
	defer trainSplit.Close()
	valSplit, err := data.Open("val")
	if err != nil {
		return nil, err
	}
	defer valSplit.Close()
	t, err := train.NewTrainer(m, s, dev, trainSplit, valSplit, nil, train.Options{
		Dir: dir,
		Observe: func(event any) {
			if e, ok := event.(train.EvaluationReport); ok {
				fmt.Printf("step %d: validation accuracy %.1f%%\n", e.Step, 100**e.Accuracy)
			}
		},
	})
	if err != nil {
		return nil, err
	}
	defer t.Close()
	if err := t.Run(ctx); err != nil {
		return nil, err
	}
	return sft.Load(dir)
}

// byteTokenizer makes one token of each byte.
var byteTokenizer = json.RawMessage(`{"type": "byte"}`)

func encode(lines []string) (out [][]int32, err error) {
	t, err := tokenizers.New(byteTokenizer)
	if err != nil {
		return nil, err
	}
	for _, line := range lines {
		tokens, err := t.Encode(line)
		if err != nil {
			return nil, err
		}
		out = append(out, tokens)
	}
	return out, nil
}

// makeData writes a data set of the labelled lines that draw returns.
func makeData(dir string, draw func(*rand.Rand) (line string, label int32)) (*seq.Dataset, error) {
	t, err := tokenizers.New(byteTokenizer)
	if err != nil {
		return nil, err
	}
	builder, err := seq.CreateDataset(dir, seq.Spec{
		Task: seq.Classification, Name: "logs", Tokenizer: byteTokenizer, VocabSize: t.VocabSize(), PadID: t.PadID(),
		LabelNames: []string{"fine", "failed"},
	}, false)
	if err != nil {
		return nil, err
	}
	defer builder.Abort() // has no effect after Finish
	random := rand.New(rand.NewPCG(1, 2))
	for _, split := range []struct {
		name string
		rows int
	}{{"train", 1000}, {"val", 200}} {
		w, err := builder.Split(split.name)
		if err != nil {
			return nil, err
		}
		for range split.rows {
			line, label := draw(random)
			tokens, err := t.Encode(line)
			if err != nil {
				return nil, err
			}
			if err := w.Write(seq.Example{A: tokens, Label: label}); err != nil {
				return nil, err
			}
		}
		if err := w.Close(); err != nil {
			return nil, err
		}
	}
	return builder.Finish(nil)
}

// webLine returns a random log line of a web server and its label: 1 for a status of 5xx.
func webLine(r *rand.Rand) (string, int32) {
	label := int32(r.IntN(2))
	status := []int{200, 204, 301, 404}[r.IntN(4)]
	if label == 1 {
		status = []int{500, 502, 503}[r.IntN(3)]
	}
	path := []string{"/", "/cart", "/login", "/search?q=shoes"}[r.IntN(4)]
	return fmt.Sprintf("%s %s %d in %d ms", []string{"GET", "POST"}[r.IntN(2)], path, status, r.IntN(10000)), label
}

// mailLine returns a random log line of a mail server and its label: 1 if the mail was refused
// permanently.
func mailLine(r *rand.Rand) (string, int32) {
	label := int32(r.IntN(2))
	status := []string{"250 delivered", "451 try later"}[r.IntN(2)]
	if label == 1 {
		status = []string{"550 no such user", "554 refused"}[r.IntN(2)]
	}
	return fmt.Sprintf("to=<user%d@example.com> %s", r.IntN(1000), status), label
}

func cosine(a, b []float32) float64 {
	var ab, aa, bb float64
	for i := range a {
		ab += float64(a[i]) * float64(b[i])
		aa += float64(a[i]) * float64(a[i])
		bb += float64(b[i]) * float64(b[i])
	}
	return ab / math.Sqrt(aa*bb)
}
