// Package modeltest provides models with random weights, the models and examples of the golden folders,
// and a slow float64 reference of the whole model.
package modeltest
