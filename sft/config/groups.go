package config

import (
	"encoding/json"
)

// Config is the content of config.json: the definition of a model except its weights. The groups
// exist only in Go; in the file all keys are on one level. Keys that older models do not have are
// omitted if they are zero, and zero selects the behaviour of older models.
type Config struct {
	ModelType string `json:"model_type"` // "sft"; [LinearType] for a linear model
	Task      string `json:"task"`       // one of [Tasks]
	Inputs
	Encoder
	Attention
	Sampler
	Regularization
	Masking
	Head
	Decision
	// AutoMap names the Python classes of an export for Hugging Face's libraries.
	AutoMap json.RawMessage `json:"auto_map,omitempty"`
	// Extra is provenance, which the model ignores.
	Extra json.RawMessage `json:"extra,omitempty"`
}

// Inputs defines the tokens that a model reads: ids of a vocabulary, or rows of features.
type Inputs struct {
	VocabSize  int             `json:"vocab_size"`
	PadTokenID *int32          `json:"pad_token_id"`            // null means that every id is a token
	MaxLength  int             `json:"max_position_embeddings"` // maximum length of a sequence, in tokens
	Tokenizer  json.RawMessage `json:"tokenizer"`
	// InputWindow truncates or refuses sequences longer than its length; nil means no window.
	InputWindow *InputWindow `json:"input_window,omitempty"`
	// InputWindowTail is the number of tokens that the window reads from the end of a longer
	// sequence; 0 (default) means that the window is the beginning.
	InputWindowTail int `json:"input_window_tail,omitempty"`
	// FeatureNames names the features of each token; nil means that tokens have ids.
	FeatureNames []string `json:"feature_names,omitempty"`
	// FeatureScales standardises the steps of a series; nil means that features keep their units.
	FeatureScales []Number `json:"feature_scales,omitempty"`
	// EdgeFeatureNames names the features of each edge and may be empty; nil means no edges.
	EdgeFeatureNames []string `json:"edge_feature_names,omitzero"`
	// NGrams defines the n-grams with embeddings; nil means none.
	NGrams *NGrams `json:"ngrams,omitempty"`
	// Input selects the input of tokens with features: features (default) or ones.
	Input string `json:"input,omitempty"`
}

// InputWindow limits the length of a sequence, in tokens.
type InputWindow struct {
	Length int    `json:"length"`
	Policy string `json:"policy"` // error, head
}

// Encoder defines the sizes of the layers and their parts other than attention.
type Encoder struct {
	HiddenSize       int     `json:"hidden_size"`
	NumLayers        int     `json:"num_hidden_layers"`
	IntermediateSize int     `json:"intermediate_size"`
	NormPosition     string  `json:"norm_position"` // pre, post
	LayerNormEps     float64 `json:"layer_norm_eps"`
	ResidualScale    bool    `json:"residual_scale,omitempty"`
	// Convolutions precede the attention in each layer.
	Convolutions []Convolution `json:"convolutions,omitempty"`
	// MovingAverages is the number of exponential moving averages per channel and direction. They
	// follow the convolutions of a layer.
	MovingAverages int `json:"moving_averages,omitempty"`
	// Chunks divides the layers of a model of documents; nil means that all layers read all tokens.
	Chunks *Chunks `json:"chunks,omitempty"`
}

// Attention defines score and probability of a query and a key, and the relation of their tokens.
type Attention struct {
	NumHeads     int     `json:"num_attention_heads"`
	Score        string  `json:"score"`       // maxout, maxout_standardized, lily, dot
	Probability  string  `json:"probability"` // leaky_relu, relu, softmax
	Relative     string  `json:"relative"`    // one of [Relations]
	SinusoidDim  int     `json:"sinusoid_dim"`
	SinusoidBase float64 `json:"sinusoid_base"`
}

// Sampler defines how a layer selects the tokens that it attends to.
type Sampler struct {
	// NumSampledTokens is the number of tokens that a layer attends to. 0 means layers without
	// attention, which require [NoRelation].
	NumSampledTokens int    `json:"num_sampled_tokens"`
	SamplerSeed      uint64 `json:"sampler_seed"`
	SamplerNoise     string `json:"sampler_noise,omitempty"` // train (default), always
}

// Regularization holds the rates of dropout in training.
type Regularization struct {
	DropToken        float64 `json:"drop_token,omitempty"` // fraction of tokens that are not sampled
	AttentionDropout float64 `json:"attention_dropout,omitempty"`
	EmbeddingDropout float64 `json:"embedding_dropout,omitempty"`
	FeedForward      float64 `json:"feed_forward_dropout,omitempty"`
}

// Masking defines the training of the task fill-mask.
type Masking struct {
	// MaskTokenID is the last id of the vocabulary; nil means that the vocabulary has no mask.
	MaskTokenID *int32 `json:"mask_token_id,omitempty"`
	// MaskRate is the fraction of tokens that are predicted.
	MaskRate float64 `json:"mask_rate,omitempty"`
	// MaskSpan is the mean length of a span of predicted tokens.
	MaskSpan float64 `json:"mask_span,omitempty"`
	// MaskTargets replaces tokens as the targets; nil means that tokens are the targets.
	MaskTargets *MaskTargets `json:"mask_targets,omitempty"`
	// TieEmbeddings uses the embedding as the output layer.
	TieEmbeddings bool `json:"tie_embeddings,omitempty"`
}

// Head defines the pooling of a sequence and the names of the outputs.
type Head struct {
	NumLabels  int      `json:"num_labels"`
	LabelNames []string `json:"label_names,omitempty"`
	// Numbers lists the numbers that a regression predicts.
	Numbers        []Number `json:"numbers,omitempty"`
	RegressionLoss string   `json:"regression_loss,omitempty"` // smooth_l1 (default), squared
	// Pooling selects how the rows of a sequence's tokens become one row: softmax (default) or max.
	Pooling string `json:"pooling,omitempty"`
	// PoolingSamples is the number of tokens that max pooling samples; 0 (default) means all.
	PoolingSamples int `json:"pooling_samples,omitempty"`
}

// Decision defines how predictions follow from logits. Training chooses it on the validation split,
// for the saved weights.
type Decision struct {
	// Thresholds holds the minimum probability of each predicted label, for multi-label; nil means
	// 0.5.
	Thresholds []float64 `json:"thresholds,omitempty"`
	// Temperature divides the logits, for calibrated probabilities; 0 means 1.
	Temperature float64 `json:"temperature,omitempty"`
	// SpanDecoding selects how tagging logits become tags; nil means the largest logit of each
	// token.
	SpanDecoding *SpanDecoding `json:"span_decoding,omitempty"`
}

// Values of [Config.Relative].
const (
	SinusoidRelation = "sinusoid_hadamard" // positions in a sequence
	DistanceRelation = "distance"          // distances between points
	EdgeRelation     = "edges"             // edges of a graph
	NoRelation       = "none"
)

// Relations lists the values of [Config.Relative].
var Relations = []string{SinusoidRelation, DistanceRelation, EdgeRelation, NoRelation}

// Initialisations of embeddings other than normal.
const (
	FourierInit  = "fourier"  // [sft.Model.FourierEmbeddings]
	CodebookInit = "codebook" // [sft.Model.CodebookEmbeddings]
)

// EmbeddingInits lists the initialisations of embeddings: normal draws the row of each token
// independently; fourier is for tokens that are levels of a quantity; codebook is for tokens that
// represent vectors.
var EmbeddingInits = []string{"normal", FourierInit, CodebookInit}
