package config

// Ways in which a run's embeddings may begin, beside the normal one.
const (
	FourierInit  = "fourier"  // [sft.Model.FourierEmbeddings]
	CodebookInit = "codebook" // [sft.Model.CodebookEmbeddings]
)

// EmbeddingInits are the ways in which a run's embeddings may begin: normal, each token
// without regard to others; fourier, for tokens that are levels of a quantity; or codebook,
// for tokens that stand for vectors.
var EmbeddingInits = []string{"normal", FourierInit, CodebookInit}
