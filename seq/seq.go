// Package seq holds labelled sequences as Apache Arrow record batches: their
// schema, reading and writing, random access, the order of training batches,
// and data set directories.
//
// # Files
//
// A file is an Arrow IPC file or stream with the schema of a [Spec]:
//
//	tokens   list<uint8 | uint16 | int32>   the only sequence of a row, or
//	tokens_a, tokens_b                      the two sequences of a pair, or
//	features list<fixed_size_list<float32>> float numbers for each token, in place of its id
//	edges    list<fixed_size_list<int32>[2]> the edges of a graph of tokens, source and target from 0
//	edge_features list<fixed_size_list<float32>> float numbers for each edge; absent if edges have no features
//	label    int32                          the label, absent or null if unknown; or for the task multi-label
//	         list<int32>                    the positive labels, ascending; or for the task tagging
//	         list<int32>                    one label for each token, null for a token without a label
//	numbers  fixed_size_list<float32>       replace the label for the task regression; may be absent or null
//	id       utf8                           identifies the row; may be absent or null
//
// The schema's metadata contain the task, data set name, tokenizer, vocabulary size, pad id, split,
// and the names of labels, numbers, features and edge features. A token id is the stored number plus
// first_token_id of the metadata, which is 0 if absent. With a first_token_id of 1, the byte ids
// 1 … 256 are stored as the bytes themselves. A file with the reserved column label_mask or a
// dictionary-encoded column is refused. Other columns are ignored, as is a column id that is not text.
//
// # Hostile input
//
// A file may come from an untrusted source. Its messages are checked before Arrow decodes them, and
// the decoded rows are validated one by one. The error for a malformed file names the file and, where
// known, the record batch, row and column. Reading never panics, and never needs memory out of
// proportion to the bytes read.
//
// Limits: metadata of a message 1 MiB, body of a record batch 1 GiB (also after
// decompression), 64 columns, 128 MiB for the window of a ZSTD frame.
package seq

// NoLabel is the value of Example.Label if the label is unknown.
const NoLabel int32 = -1

// Example is one row: a sequence or a pair of sequences, and its label, labels or numbers.
type Example struct {
	Index uint32  // index of the row in its file
	A     []int32 // only or first sequence: the column tokens or tokens_a
	B     []int32 // second sequence: the column tokens_b; nil unless the row is a pair
	Label int32   // label, or NoLabel if unknown
	// Labels are the positive labels in ascending order for multi-label. For tagging they are a
	// label, or NoLabel, for each token. They are nil if unknown.
	Labels  []int32
	Numbers []float32 // targets of a regression; nil if unknown
	ID      string    // "" if the row has no id; always "" in examples from a File
	// Features replace A. They are a slice of numbers for each token, and nil if the tokens have
	// ids.
	Features [][]float32
	// Edges connect the tokens, which must have features. They are nil if the data have no edges.
	Edges []Edge
}

// Length returns the number of tokens of both sequences together.
func (e *Example) Length() int { return e.First() + len(e.B) }

// First returns the number of tokens of the first or only sequence.
func (e *Example) First() int { return max(len(e.A), len(e.Features)) }

// sequences returns the sequences for the n token columns.
func (e *Example) sequences(n int) [][]int32 { return [][]int32{e.A, e.B}[:n] }
