// Package modeltest has models with random weights, the models of testdata/golden, and a slow float64
// reference of the whole model.
package modeltest
