package config

// Initialisations of embeddings other than normal.
const (
	FourierInit  = "fourier"  // [sft.Model.FourierEmbeddings]
	CodebookInit = "codebook" // [sft.Model.CodebookEmbeddings]
)

// EmbeddingInits lists the initialisations of embeddings: normal draws each token independently,
// fourier is for tokens that are levels of a quantity, codebook is for tokens that represent
// vectors.
var EmbeddingInits = []string{"normal", FourierInit, CodebookInit}
