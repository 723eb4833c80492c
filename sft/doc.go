// Package sft is the Sampling Foundational Transformer: an encoder whose layers
// each sample k of the L tokens of a sequence by learned scores. All tokens
// attend to the same sample, so that a layer costs O(L·k).
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
// each channel, and classifies it, tells which of several labels hold, predicts numbers, or
// compares it with another (retrieval); or it reads the row of each token, to tag it (tagging)
// or to tell it where it was masked (fill-mask).
//
// The files read like that: sampler (sampler.go) and attention (attention.go), the layer
// (layer.go), the pooling (pooling.go, maxpooling.go), the head and the loss
// (objective.go, classification.go, retrieval.go, fillmask.go), the whole recorded as a program (pass.go).
// Training is trainer.go: micro-batches (microbatch.go), their gradients (gradients.go)
// and the fixed tree that adds them (tree.go), the update with AdamW (optimizer.go),
// validation (evaluation.go) and checkpoints (checkpoint.go). A [Stepper] (stepper.go)
// makes the same steps without files. [Load] and [NewScorer] serve a trained model.
//
// The model names no kind of device: it takes a [Device], which package device
// opens.
//
// Source: "Sampling Foundational Transformer: A Theoretical Perspective" (2024).
package sft
