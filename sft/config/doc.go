// Package config is the configuration of a model, config.json: its keys, their checks, and how the
// logits of a task are read. Packages sft and train both need it; it knows no device and no program.
//
// The files in the order of reading: the keys and their groups (groups.go), reading and checks (config.go), what a task
// decides (task.go, and a file for each task such as classification.go), and parts of a configuration: features and
// edges of tokens (features.go, scales.go, edges.go), convolutions (convolution.go), the relation of two tokens
// (relation.go), pooling (pooling.go), the input window (inputwindow.go), targets of masked tokens (masktargets.go),
// decoding and calibration (spandecoding.go, temperature.go). Example checks are in example.go, comparisons of two
// models in same.go, and the layout of the weights in parameters.go.
package config
