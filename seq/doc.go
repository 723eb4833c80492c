// Package seq holds labelled sequences as Apache Arrow record batches: their
// schema, reading and writing, random access, the order of training batches,
// and data set directories.
//
// # Files
//
// A file is an Arrow IPC file or stream whose schema is that of a [Spec]:
//
//	tokens   list<uint8 | uint16 | int32>   a classification's sequence, or
//	tokens_a, tokens_b                      the two sequences of a pair
//	label    int32                          absent or null where unknown
//	id       utf8                           what a row is called; may be absent or null
//
// with the task, tokenizer, vocabulary, label names and split in the schema's
// metadata. An id is what is stored plus first_token_id of the metadata, 0 if that
// is absent: bytes, whose ids are 1 … 256, are stored as they are. The columns
// features, edges and label_mask are reserved for other modalities and refused so
// far; any other column is ignored, and so is an id that is no text.
//
// # Hostile input
//
// Arrow's reader believes what a file says about its own sizes: it panics on
// malformed metadata and allocates what a length field asks for. So nothing
// reaches it unchecked. A message is framed by this package (frame.go), its
// metadata is walked with bounds and budgets (flat.go, check.go), and only then
// does Arrow decode it, under a recover and an allocator with a limit
// (decode.go). What comes out is validated row by row (rows.go). A bad file is
// an error that names file, record batch, row and column; it is never a panic,
// and never costs memory out of proportion to the bytes read.
//
// Limits: metadata of a message 1 MiB, body of a record batch 1 GiB (also after
// decompression), 64 columns, 128 MiB for the window that a ZSTD frame asks for.
package seq
