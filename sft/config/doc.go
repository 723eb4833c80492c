// Package config defines the configuration of a model, config.json: its keys, their checks, and how
// predictions follow from logits. It depends neither on devices nor on tensor programs.
//
// Suggested reading order: the keys and their groups (groups.go), reading and checks (config.go), the
// tasks (task.go, and files of tasks such as classification.go), and the parts of a
// configuration. The parts are features and edges of tokens (features.go, scales.go, edges.go), n-grams
// (ngrams.go), convolutions (convolution.go), chunks (chunks.go), pooling (pooling.go), the input window
// (inputwindow.go), targets of masked tokens (masktargets.go), and decoding and calibration
// (spandecoding.go, temperature.go). example.go checks examples, same.go compares two models, and
// parameters.go has the layout of the weights.
package config
