// Package model records the Sampling Foundational Transformer as programs, and runs them on a device.
//
// A layer, with x its input (LN1(x) under pre-norm) and per head
//
//	s_i  = w·x_i + b                               score of a token (+ Gumbel noise in training)
//	S1   = the k tokens of largest s, S2 = k others at random, paired by position
//	p    = softplus(s_top)/(softplus(s_top) + softplus(s_partner))
//	x̂_j  = p_j x_top + (1−p_j) x_partner           a sampled token
//	Q = x W_q, K, V, C = x̂ W_k, x̂ W_v, x̂ W_c        C is the leak, one number per key and head
//	A_ij = Σ_c max(q_ic, k_jc)/√dh · Rmul_ij + Radd_ij
//	P_ij = ReLU(A_ij)/(Σ_r ReLU(A_ir) + Σ_r softplus(C_r))
//	O    = P V, heads joined, times W_o
//
// and a feed-forward block with GELU. Rmul and Radd are the relative encoding (package
// sinusoid). A head pools the tokens of a sequence with learned weights, or takes the maximum of
// each channel, and classifies it, predicts several labels or numbers, or compares it with another
// (retrieval); or it reads the row of each token, to tag it (tagging) or to predict a masked token
// (fill-mask).
//
// The files in the order of reading: sampler (sampler.go) and attention (attention.go, relation.go),
// the layer (layer.go, convolution.go), the pooling (pooling.go, maxpooling.go), the head and the loss
// (objective.go, rows.go, heads.go, tagging.go, fillmask.go), the whole recorded as a program
// (emitter.go, embed.go, pass.go). A batch is packed (pack.go, masking.go) and run in a slot
// (engine.go); a runner runs many passes (runner.go, microbatch.go, passlimits.go). The weights begin in
// initialize.go and have their names in parameters.go and weights.go.
//
// The model names no kind of device, and no package below it trains.
//
// Source: "Sampling Foundational Transformer: A Theoretical Perspective" (2024).
package model
