package tensor

// MovingAverage sums exponential moving averages of each channel in both directions. The states s =
// 0 … S/2−1 run forward and the remaining states backward, with the decay a = sigmoid(Decay):
//
//	h_{s,i} = a_s∘h_{s,i∓1} + (1 − a_s)∘X_i,  Z_i = Bias + Σ_s Gain_s∘h_{s,i}
//
// The states are 0 before the first and after the last row of a sequence.
//
// Source: Ma, Zhou, Kong, He, Gui, Neubig, May and Zettlemoyer, "Mega: Moving Average Equipped Gated
// Attention", ICLR 2023, section 3.1, without the damping factor.
type MovingAverage struct {
	Z           *Tensor `op:"write" shape:"T,d"`
	X           *Tensor `shape:"T,d"`
	Decay, Gain *Tensor `shape:"s,d"`
	Bias        *Tensor `shape:"d"`
	Batch       *Batch
}

// MovingAverageBackward computes the gradients of [MovingAverage]. Sums run against the direction of
// the state: backward for s < S/2 and forward for s ≥ S/2.
//
//	r_{s,i} = DZ_i + a_s∘r_{s,i±1},  w_{s,i} = r_{s,i±1} + a_s∘w_{s,i±1}
//	R_s = Σ_i X_i∘r_{s,i},  W_s = Σ_i X_i∘w_{s,i}
//	DX_i = Σ_s (1 − a_s)∘Gain_s∘r_{s,i},  DBias = Σ_i DZ_i
//	DGain_s = (1 − a_s)∘R_s,  DDecay_s = a_s∘(1 − a_s)∘Gain_s∘((1 − a_s)∘W_s − R_s)
//
// w is the derivative of r with respect to a. No state of the forward pass is needed.
type MovingAverageBackward struct {
	DX            *Tensor `op:"write" shape:"T,d"`
	DDecay, DGain *Tensor `op:"write" shape:"s,d"`
	DBias         *Tensor `op:"write" shape:"d"`
	DZ, X         *Tensor `shape:"T,d"`
	Decay, Gain   *Tensor `shape:"s,d"`
	Batch         *Batch
}
