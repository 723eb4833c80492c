package config

import "encoding/json"

// Config is config.json: all that defines a model beside its weights. Its groups are Go's alone: their keys stand side
// by side in the file, as other programs read them. A key that older models do not have is omitted where it is zero,
// and zero stands for their behaviour.
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
	// AutoMap names the classes of an export for Hugging Face's libraries.
	AutoMap json.RawMessage `json:"auto_map,omitempty"`
	// Extra is provenance, in a form that the model does not read.
	Extra json.RawMessage `json:"extra,omitempty"`
}

// Inputs are the tokens that a model reads: ids of a vocabulary, or rows of numbers.
type Inputs struct {
	VocabSize  int             `json:"vocab_size"`
	PadTokenID *int32          `json:"pad_token_id"`            // null: every id is a token
	MaxLength  int             `json:"max_position_embeddings"` // longest sequence accepted
	Tokenizer  json.RawMessage `json:"tokenizer"`
	// InputWindow shortens longer sequences, or refuses them.
	InputWindow *InputWindow `json:"input_window,omitempty"`
	// FeatureNames are the names of the numbers of each token; nil: tokens have ids.
	FeatureNames []string `json:"feature_names,omitempty"`
	// FeatureScales standardise the steps of a series; nil: the input layer reads the features in their units.
	FeatureScales []Number `json:"feature_scales,omitempty"`
	// EdgeFeatureNames are the names of the numbers of each edge, maybe none; nil: there are no edges.
	EdgeFeatureNames []string `json:"edge_feature_names,omitzero"`
	// NGrams have embeddings beside those of token ids; nil: none have.
	NGrams *NGrams `json:"ngrams,omitempty"`
	// Input says what the input layer reads of tokens with features: features (default), ones.
	Input string `json:"input,omitempty"`
}

// InputWindow is the part of a longer input that a task reads.
type InputWindow struct {
	Length int    `json:"length"`
	Policy string `json:"policy"` // error, head
}

// Encoder has the sizes of the layers, and their parts but attention.
type Encoder struct {
	HiddenSize       int     `json:"hidden_size"`
	NumLayers        int     `json:"num_hidden_layers"`
	IntermediateSize int     `json:"intermediate_size"`
	NormPosition     string  `json:"norm_position"` // pre, post
	LayerNormEps     float64 `json:"layer_norm_eps"`
	ResidualScale    bool    `json:"residual_scale,omitempty"`
	// Convolutions precede the attention of each layer.
	Convolutions []Convolution `json:"convolutions,omitempty"`
}

// Attention has the score and the probability of a query and a key, and the relation of their tokens.
type Attention struct {
	NumHeads     int     `json:"num_attention_heads"`
	Score        string  `json:"score"`       // maxout, maxout_standardized, lily, dot
	Probability  string  `json:"probability"` // leaky_relu, relu, softmax
	Relative     string  `json:"relative"`    // one of [Relations]
	SinusoidDim  int     `json:"sinusoid_dim"`
	SinusoidBase float64 `json:"sinusoid_base"`
}

// Sampler chooses the tokens that a layer attends to.
type Sampler struct {
	NumSampledTokens int    `json:"num_sampled_tokens"`
	SamplerSeed      uint64 `json:"sampler_seed"`
	SamplerNoise     string `json:"sampler_noise,omitempty"` // train (default), always
}

// Regularization has the rates of dropout in training.
type Regularization struct {
	DropToken        float64 `json:"drop_token,omitempty"` // tokens left out of the sample
	AttentionDropout float64 `json:"attention_dropout,omitempty"`
	EmbeddingDropout float64 `json:"embedding_dropout,omitempty"`
	FeedForward      float64 `json:"feed_forward_dropout,omitempty"`
}

// Masking is the training of the task fill-mask.
type Masking struct {
	// MaskTokenID is the last id of the vocabulary; nil: the vocabulary has no mask.
	MaskTokenID *int32 `json:"mask_token_id,omitempty"`
	// MaskRate is the share of the tokens that are predicted.
	MaskRate float64 `json:"mask_rate,omitempty"`
	// MaskSpan is the mean number of such tokens in a row.
	MaskSpan float64 `json:"mask_span,omitempty"`
	// MaskTargets are predicted in place of the tokens; nil: the tokens.
	MaskTargets *MaskTargets `json:"mask_targets,omitempty"`
	// TieEmbeddings makes the embedding the output layer.
	TieEmbeddings bool `json:"tie_embeddings,omitempty"`
}

// Head has the pooling of a sequence and the names of the logits.
type Head struct {
	NumLabels  int      `json:"num_labels"`
	LabelNames []string `json:"label_names,omitempty"`
	// Numbers are those that a regression predicts.
	Numbers        []Number `json:"numbers,omitempty"`
	RegressionLoss string   `json:"regression_loss,omitempty"` // smooth_l1 (default), squared
	// Pooling makes one row of a sequence's tokens for the head: softmax (default), max.
	Pooling string `json:"pooling,omitempty"`
	// PoolingSamples is how many tokens the pooling max samples; 0 (default): it reads all.
	PoolingSamples int `json:"pooling_samples,omitempty"`
}

// Decision turns logits into predictions. Training chooses it on the validation split, for the weights that it keeps.
type Decision struct {
	// Thresholds are the probabilities from which on each label of multi-label is predicted; nil: 0.5.
	Thresholds []float64 `json:"thresholds,omitempty"`
	// Temperature divides the logits, for calibrated probabilities; 0: 1.
	Temperature float64 `json:"temperature,omitempty"`
	// SpanDecoding turns the logits of tagging into tags; nil: the largest logit of each token.
	SpanDecoding *SpanDecoding `json:"span_decoding,omitempty"`
}
