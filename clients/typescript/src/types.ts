// What the server is asked about, and what it answers. docs/protocol.md of sftseq has every field.

/** An open document, such as the class Document. */
export interface OpenDocument {
  readonly uri: string;
  readonly version: number;
}

/** A sequence: text, the bytes of a text, token ids, an open document, or a point cloud or graph. */
export type Sequence = string | Uint8Array | readonly number[] | Int32Array | OpenDocument | Graph;

/** A point cloud or a graph: the features of each token, and edges, each a source, a target and its features. */
export interface Graph {
  features: readonly (readonly number[])[];
  edges?: readonly (readonly number[])[];
}

/** Two sequences that are compared. */
export type Pair = readonly [Sequence, Sequence];

/** What is read of a sequence that is longer than the model accepts; lengths are in tokens. */
export interface Window {
  policy: 'head' | 'tail' | 'sliding';
  length?: number;
  stride?: number;
}

/** What was read of a sequence, if the request had a window: from start up to end, in so many windows. */
export interface WindowRead {
  policy: string;
  start: number;
  end: number;
  count: number;
}

/** What all answers about one sequence have. */
export interface Answer {
  /** In tokens. */
  length: number;
  /** Tokens that the model has read, where it may cut. */
  used?: number;
  /** Of a document. */
  uri?: string;
  version?: number;
}

/** Which tokens were sampled, and what attention they received. */
export interface Explanation {
  layers: { positions: number[]; weights: number[]; mass: number[] }[];
  pooling: number[];
}

/** The class of a sequence. */
export interface Classification extends Answer {
  label: string | number;
  logits: number[];
  probabilities: number[];
  explain?: Explanation;
  window?: WindowRead;
  windows?: { start: number; end: number; label: string | number; logits: number[]; probabilities: number[]; explain?: Explanation }[];
}

/** The class of a pair. */
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

/** The vector of a sequence. */
export interface Embedding extends Answer {
  embedding: number[];
}

/** The numbers of a sequence, by name. */
export interface Numbers extends Answer {
  numbers: Record<string, number>;
  window?: WindowRead;
  windows?: { start: number; end: number; numbers: Record<string, number> }[];
}

/** The labels of a sequence that hold, and the probability of each. */
export interface Labels extends Answer {
  labels: (string | number)[];
  probabilities: Record<string, number>;
  window?: WindowRead;
  windows?: { start: number; end: number; labels: (string | number)[]; probabilities: Record<string, number> }[];
}

/** The spans of a sequence: from start up to end, in Unicode characters, as [...text] has them, or in tokens. */
export interface Spans extends Answer {
  spans: { start: number; end: number; label: string; score: number }[];
  unit: 'characters' | 'tokens';
}

/** The tag of each point of a cloud, or of each node of a graph, and its probability. */
export interface Tags extends Answer {
  tags: (string | number)[];
  scores: number[];
}

/** What is said of a document that has been left alone: its class, spans, numbers or labels. */
export interface Pushed {
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

/** An item that is in the index, and on the disk. */
export interface Added extends Answer {
  id: string;
}

/** What has left the index. */
export interface Removed {
  removed: number;
  unknown: string[];
}

/** The items that are nearest to a sequence, the best first. */
export interface Found {
  items: { id: string; cosine: number; score?: number }[];
  length: number;
}

/** What the server answers with. */
export interface Model {
  name: string;
  task: string;
  labels: (string | number)[];
  numbers?: string[];
  /** Of tokens without ids. */
  features?: string[];
  /** Of graphs. */
  edgeFeatures?: string[];
  tokenizer: { type: string; hash: string } | null;
  vocabSize: number;
  longestLength: number;
  hiddenSize: number;
  layers: number;
  device: string;
  hash: string;
  /** That answer together, two or more. */
  models?: number;
}
