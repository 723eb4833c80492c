// Package sft implements the Sampling Foundational Transformer, an encoder whose layers each sample
// k of the L tokens of a sequence by learned scores. All tokens attend to the same sample, so that a
// layer costs O(L·k).
//
// [Load] reads a trained [Model], and [NewScorer] copies it to a [Device], which package device
// opens. [NewEnsemble] and [NewFusion] combine several models. Package config defines the
// configuration of a model, and package train trains models.
//
// Suggested order of reading: a model and its directory (model.go, linear.go), its outputs
// (scorer.go, outputkind.go), explanations (explain.go), masked tokens (fill.go), Arrow records
// (record.go), several models (ensemble.go, fusion.go) and several processes (shared.go).
// classification.go, multilabel.go, regression.go and tagging.go implement the kinds of predictions.
// Package internal/model records the model as programs.
//
// Source: "Sampling Foundational Transformer: A Theoretical Perspective" (2024).
package sft
