// Package model records the Sampling Foundational Transformer as programs, and runs them on a device.
//
// With the score maxout and the probability leaky_relu, a layer with the input x (LN1(x) with pre-norm)
// computes the following. Each head has its own channels of Q, K and V, and its own A, P, C, Rmul and Radd.
//
//	s_i  = w·x_i + b                               score of a token (+ Gumbel noise in training)
//	S1   = the k tokens of largest s, S2 = up to k others at random, paired by position
//	p    = softplus(s_top)/(softplus(s_top) + softplus(s_partner))
//	x̂_j  = p_j x_top + (1−p_j) x_partner           a sampled token
//	Q = x W_q, K, V, C = x̂ W_k, x̂ W_v, x̂ W_c        C is the leak, one number per key and head
//	A_ij = Σ_c max(q_ic, k_jc)/√dh · Rmul_ij + Radd_ij
//	P_ij = ReLU(A_ij)/(Σ_r ReLU(A_ir) + Σ_r softplus(C_r))
//	O    = P V, heads joined, times W_o
//
// and a feed-forward block with GELU. Branches with depthwise convolutions, and then with exponential
// moving averages of each channel in both directions, may precede the attention
// ([tensor.Convolution], [tensor.MovingAverage]). Rmul and Radd are the relative position bias (package
// sinusoid), or a bias by distances or edges (relation.go). A head pools the tokens of a sequence with
// learned weights, or takes the maximum of each channel. It then classifies the sequence, predicts
// several labels or numbers, or compares two sequences (retrieval). Other heads read the row of each
// token, to tag it (tagging) or to predict a masked token (fill-mask).
//
// Suggested order of reading: sampler (sampler.go) and attention (attention.go, relation.go), the
// layer (layer.go, convolution.go), the pooling (pooling.go, maxpooling.go), the head and the loss
// (objective.go, rows.go, heads.go, tagging.go, fillmask.go), and the program of the whole model
// (emitter.go, embed.go, pass.go). pack.go and masking.go pack a batch, engine.go runs it in a
// slot, and runner.go, microbatch.go and passlimits.go run many passes. Chunked models add stage.go,
// documents.go, exports.go, contexts.go and documentgradient.go. initialize.go has the initial
// weights, parameters.go their names and shapes, and weights.go their files.
//
// The package depends on no kind of device, and it does not train.
//
// Source: "Sampling Foundational Transformer: A Theoretical Perspective" (2024).
package model
