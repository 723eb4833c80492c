package philox

// Streams separate the uses of random numbers: draws of different streams have different counters. This is
// the complete list of streams; philox.glsl and modeling_sft.py repeat some of their numbers. Every trained
// model depends on the numbers, so they must never change; new streams are appended.
const (
	// Token sampler: e = position, first word w, with u = Uniform(w).
	StreamGumbel  uint32 = 0 // Gumbel noise on the score, computed from u
	StreamPartner uint32 = 1 // w is the sort key that selects the partners
	StreamDrop    uint32 = 2 // the token is dropped if u < rate
	StreamTie     uint32 = 3 // w is the sort key among equal scores

	// Dropouts: element n = row·width + channel uses word n&3 of draw e = n>>2.
	StreamDropoutQ         uint32 = 4
	StreamDropoutK         uint32 = 5
	StreamDropoutAttention uint32 = 6
	StreamDropoutGELU      uint32 = 7
	StreamDropoutMLP       uint32 = 8

	StreamInit     uint32 = 9  // initial parameters
	StreamShuffle  uint32 = 10 // order of the examples in an epoch
	StreamGenerate uint32 = 11 // synthetic data sets, and points of converted point clouds
	StreamSplit    uint32 = 12 // train, validation and test splits
	// Noise in training. Tokens: e = position. The first word decides whether the token is
	// deleted, the second whether it is replaced, and the third selects the replacement. Point clouds:
	// e = index of the draw. Draw 0 determines scale and shift, the draws from 1 the rotation, and draw
	// 2³² − 1 the stretch. Images: draw 0, also the draw of the first token, determines flip and shift.
	StreamNoise uint32 = 13

	// Masked tokens in training: e = position. First word: a span of mean length s continues if
	// u < 1 − 1/s. Second: a span begins. Third: kind of replacement. Fourth: replacing token.
	StreamMask           uint32 = 14
	StreamMaskEvaluation uint32 = 15 // like StreamMask, in evaluation, with step 0

	// Random numbers of the studies: e = index of a pair of normal numbers, or of a uniform number. The
	// layer of the counter holds the purpose of the number, and the example the index of the study's draw.
	StreamStudy uint32 = 16

	// StreamNGrams drops n-grams of tokens in training: number n = position·groups + group uses
	// word n&3 of draw e = n>>2.
	StreamNGrams uint32 = 17

	// StreamGear draws the bits of each token for the hash that cuts documents into chunks: e = token,
	// first and second word.
	StreamGear uint32 = 18

	// StreamChunk draws the number that replaces the example in the counters of a chunk's random
	// numbers in training: e = index of the chunk in its document, first word, with step 0.
	StreamChunk uint32 = 19
)
