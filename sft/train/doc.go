// Package train trains a model of package sft: [NewTrainer] makes a run of a data set and [Trainer.Run]
// its steps. A [Stepper] makes the same steps without files.
//
// The files in the order of reading: the run (trainer.go) and its settings (schedule.go, learningrate.go),
// the order of the rows (order.go), noise (tokennoise.go, augment.go), micro-batches and their gradients
// (gradients.go), the fixed tree that adds them (tree.go), the update with AdamW (optimizer.go,
// lossscale.go), validation and the choice of the model (evaluation.go, selection.go, training.go, and a
// file for each task such as classification.go), checkpoints (checkpoint.go, rundir.go) and metrics
// (metricslog.go, metricsread.go). Several processes share a run in ranks.go and exchange.go. Memory is
// planned in memory.go. FitFusion (fusion.go) fits the weights of several models.
package train
