// Package train trains a model of package sft. [NewTrainer] creates a run on a data set, and
// [Trainer.Run] performs its steps. A [Stepper] performs the same steps without files (stepper.go).
//
// Suggested order of reading: the run (trainer.go) and its settings (schedule.go, learningrate.go),
// the rows of each step (order.go, fresh.go), noise (tokennoise.go, augment.go, images.go), gradients of
// micro-batches (gradients.go, documents.go, ngrams.go), the fixed tree of their sums (tree.go), the
// update with AdamW (optimizer.go, lossscale.go), validation and model selection (evaluation.go,
// selection.go, temperature.go, training.go, and a file for each task such as classification.go),
// checkpoints (checkpoint.go) and metrics (metricslog.go, metricsread.go, throughput.go). ranks.go and
// exchange.go share a run among several processes. memory.go plans memory. [FitFusion] (fusion.go)
// fits the weights of the members of a fusion.
package train
