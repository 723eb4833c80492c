// Types of request parameters and results. docs/protocol.md of sftseq describes every field.

/** An open document. The class Document implements this interface. */
export interface OpenDocument {
  readonly uri: string;
  readonly version: number;
}

/** A sequence: text, the bytes of a text, token ids, an open document, or a point cloud or graph. */
export type Sequence = string | Uint8Array | readonly number[] | Int32Array | OpenDocument | Graph;

/** A point cloud or a graph: the features of each token, and edges. An edge is its source, its target and its features. */
export interface Graph {
  features: readonly (readonly number[])[];
  edges?: readonly (readonly number[])[];
}

/** Two sequences to compare. */
export type Pair = readonly [Sequence, Sequence];

/**
 * The part of a sequence to read. length and stride are in tokens. By default length is the model's
 * limit, and stride is half the length.
 */
export interface Window {
  policy: 'head' | 'tail' | 'sliding';
  length?: number;
  stride?: number;
}

/**
 * The range of tokens that the model read, from start to end, exclusive, and the number of windows.
 * Present if the request had a window.
 */
export interface WindowRead {
  policy: string;
  start: number;
  end: number;
  count: number;
}

/** The common fields of results for one sequence. */
export interface SequenceResult {
  /** The length in tokens. */
  length: number;
  /** The number of tokens that the model read, if it may truncate the sequence. */
  used?: number;
  /** The URI of a document. */
  uri?: string;
  version?: number;
}

/** The weights of sampled tokens, pooled tokens, chunks or n-grams in a prediction. */
export interface Explanation {
  /** Absent for linear models, chunked models and models without attention. */
  layers?: { positions: number[]; weights: number[]; mass: number[] }[];
  /** Absent for linear models, chunked models and tags. */
  pooling?: number[];
  /** Present for chunked models: the token range of each chunk, its weight, and its tokens with the largest weights. */
  chunks?: { start: number; end: number; weight: number; positions: number[]; weights: number[] }[];
  /** Present for linear models and for fusions with a linear model. */
  linear?: LinearExplanation;
}

/** The n-grams that contribute most to the output of a linear model. */
export interface LinearExplanation {
  /** Index of the explained class, label or number. */
  output: number;
  ngrams: NGramExplanation[];
  /** Sum of the contributions of all other n-grams. */
  rest: number;
  /** For pairs, the words that both texts have, with their contributions to the cosine. */
  shared?: NGramExplanation[];
}

/** The token ranges at which an n-gram occurs, and its contribution to the output. */
export interface NGramExplanation {
  places: [number, number][];
  contribution: number;
}

/** The class predicted for a sequence. */
export interface Classification extends SequenceResult {
  label: string | number;
  logits: number[];
  probabilities: number[];
  explain?: Explanation;
  window?: WindowRead;
  windows?: { start: number; end: number; label: string | number; logits: number[]; probabilities: number[]; explain?: Explanation }[];
}

/** The class predicted for a pair. */
export interface Score {
  label: string | number;
  logits: number[];
  probabilities: number[];
  length: number;
  length_a: number;
  length_b: number;
  used?: number;
  explain_a?: Explanation;
  explain_b?: Explanation;
}

/** The embedding of a sequence. */
export interface Embedding extends SequenceResult {
  embedding: number[];
}

/** The numbers predicted for a sequence, by name. */
export interface Numbers extends SequenceResult {
  numbers: Record<string, number>;
  window?: WindowRead;
  windows?: { start: number; end: number; numbers: Record<string, number> }[];
}

/** The predicted labels of a sequence, and the probability of each label. */
export interface Labels extends SequenceResult {
  labels: (string | number)[];
  probabilities: Record<string, number>;
  window?: WindowRead;
  windows?: { start: number; end: number; labels: (string | number)[]; probabilities: Record<string, number> }[];
}

/** The spans of a sequence. A span's start and end, exclusive, count UTF-16 code units, as text.slice does, or tokens. */
export interface Spans extends SequenceResult {
  spans: { start: number; end: number; label: string; score: number }[];
  unit: 'utf-16' | 'tokens';
}

/** The tag of each point of a cloud, or of each node of a graph, and its probability. */
export interface Tags extends SequenceResult {
  tags: (string | number)[];
  scores: number[];
}

/** A published result for a document: its class, spans, numbers or labels, or an error. */
export interface PublishedResult {
  uri: string;
  version: number;
  label?: string | number;
  scores?: number[];
  logits?: number[];
  spans?: Spans['spans'];
  unit?: Spans['unit'];
  numbers?: Numbers['numbers'];
  labels?: Labels['labels'];
  probabilities?: Labels['probabilities'];
  length?: number;
  used?: number;
  error?: { code: number; message: string; data?: unknown };
}

/** The result of adding an item, which is now in the index and on disk. */
export interface AddResult extends SequenceResult {
  id: string;
}

/** The number of removed items, and the requested ids that the index does not contain. */
export interface RemoveResult {
  removed: number;
  unknown: string[];
}

/** The items nearest to a sequence, best first. */
export interface SearchResult {
  items: { id: string; cosine: number; lexical?: number; score?: number }[];
  length: number;
}

/** The model of the server. */
export interface Model {
  name: string;
  task: string;
  labels: (string | number)[];
  numbers?: string[];
  /** The names of a token's features, if tokens have features instead of ids. */
  features?: string[];
  /** The names of an edge's features. */
  edgeFeatures?: string[];
  tokenizer: { type: string; hash: string } | null;
  vocabSize: number;
  longestLength: number;
  hiddenSize: number;
  layers: number;
  device: string;
  hash: string;
  /** The size of an ensemble, at least two. */
  models?: number;
}
