// Package distributed trains on several processes, the ranks, with the bits of one: it says what each
// rank computes and adds ([Deal], [Frontier]), connects the ranks ([JoinMPI], [NewLocal]), lets them
// take decisions together ([Agree]), and predicts the time of a step on more ranks than there are
// ([PredictSteps]).
//
// # The sum of a batch
//
// A batch is cut into micro-batches. Their gradients are added by a binary tree whose leaves are the
// micro-batches, so that the order of the sum does not depend on the number of ranks. Each rank adds
// what it can of the tree; the sums that remain on it are its frontier.
//
// # Errors
//
// All ranks make the same calls in the same order. A rank that fails brings its error to the next
// [Agree], and every rank returns it. So no rank waits for one that has failed.
package distributed
