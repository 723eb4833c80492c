package philox

// The streams: who draws, so that no two uses ever share a number. This is
// the only list of them. A stream's number is part of every trained model and
// never changes; new uses are appended.
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
	// tokens of training: e = position; first word, left out if u < rate; second, replaced; third, by which; of a point
	// cloud e = draw: the first has scale and shift, others the rotation
	StreamNoise uint32 = 13

	// tokens to be told, in training: e = position; first word, a span goes on if u < 1 − 1/mean; second, one begins;
	// third, what is read; fourth, which token instead
	StreamMask           uint32 = 14
	StreamMaskEvaluation uint32 = 15 // the same in evaluation, of step 0

	// weights and tokens of the studies: what is drawn in place of the layer, the draw in place of the example
	StreamStudy uint32 = 16
)
