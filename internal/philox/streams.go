package philox

// The streams separate the uses of random numbers, so that no two uses ever share a number. This is
// the only list of them. A stream's number is part of every trained model and never changes; new
// uses are appended.
const (
	StreamGumbel  uint32 = 0 // sampler noise; e = position, first word
	StreamPartner uint32 = 1 // partner key, the word itself
	StreamDrop    uint32 = 2 // drop token, dropped if u < rate
	StreamTie     uint32 = 3 // tie key, the word itself

	// Dropouts: element n = row·width + channel draws word n&3 of e = n>>2.
	StreamDropoutQ         uint32 = 4
	StreamDropoutK         uint32 = 5
	StreamDropoutAttention uint32 = 6
	StreamDropoutGELU      uint32 = 7
	StreamDropoutMLP       uint32 = 8

	StreamInit     uint32 = 9  // initial parameters
	StreamShuffle  uint32 = 10 // order of the examples in an epoch
	StreamGenerate uint32 = 11 // synthetic data sets
	StreamSplit    uint32 = 12 // train, validation and test splits
	// token noise in training: e = position; the first word deletes a token if u < rate, the second
	// replaces it, the third selects the replacement; for a point cloud e = draw: the first has
	// scale and shift, others the rotation
	StreamNoise uint32 = 13

	// masked tokens in training: e = position; first word, a span continues if u < 1 − 1/mean;
	// second, a span begins; third, the kind of replacement; fourth, the replacing token
	StreamMask           uint32 = 14
	StreamMaskEvaluation uint32 = 15 // the same in evaluation, of step 0

	// weights and tokens of the studies: the purpose of a draw instead of the layer, the index of
	// the draw instead of the example
	StreamStudy uint32 = 16

	// StreamNGrams leaves n-grams of tokens out in training: number n = position·groups + group draws word n&3 of
	// e = n>>2.
	StreamNGrams uint32 = 17
)
