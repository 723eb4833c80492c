// Package distributed trains on several processes, the ranks. The results of all ranks are bitwise
// identical to the results of one process. The package determines the micro-batches and sums of each
// rank ([Deal], [Frontier]), connects the ranks ([JoinMPI], [NewLocal]), synchronises their decisions
// ([Agree]), and predicts the time of a step on larger numbers of ranks ([PredictSteps]).
//
// # The sum of a batch
//
// A batch is split into micro-batches. A binary tree whose leaves are the micro-batches adds their
// gradients, so that the order of the sum does not depend on the number of ranks. Each rank
// computes all nodes of the tree that have only its own leaves. Its frontier consists of the computed
// nodes without a computed parent.
//
// # Errors
//
// All ranks make the same calls in the same order. A failed rank passes its error to the next
// [Agree], and every rank returns the error, so no rank waits for a failed rank.
package distributed
