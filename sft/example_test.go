package sft_test

import (
	"context"
	"fmt"
	"log"

	"github.com/sftseq/sftseq/device"
	"github.com/sftseq/sftseq/sft"
)

// Example loads a model directory, classifies a sequence and embeds two sequences.
func Example() {
	model, err := sft.Load("testdata/golden/pre")
	if err != nil {
		log.Fatal(err)
	}
	dev, err := device.Open(device.Options{Name: "auto"})
	if err != nil {
		log.Fatal(err)
	}
	defer dev.Close()
	scorer, err := sft.NewScorer(model, dev)
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()

	output, err := scorer.Classify(ctx, []int32{10, 13, 6, 15, 3})
	if err != nil {
		log.Fatal(err)
	}
	label := sft.Argmax(output.Logits)
	fmt.Printf("label %v with probability %.3f\n", model.Config.Label(label), sft.Probabilities(output.Logits)[label])

	vectors, err := scorer.Embeddings(ctx, [][]int32{{10, 13, 6, 15, 3}, {7, 2}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d vectors of %d numbers\n", len(vectors), len(vectors[0]))
	// Output:
	// label 6 with probability 0.181
	// 2 vectors of 32 numbers
}
