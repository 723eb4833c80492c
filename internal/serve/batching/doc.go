// Package batching computes the examples of many sessions in few passes of a model. Jobs wait in a queue that
// is fair among accounts and lengths; a batch takes jobs of one kind and of similar length. The package does
// not depend on requests or their format.
package batching
