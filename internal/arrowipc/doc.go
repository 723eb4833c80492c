// Package arrowipc reads Arrow IPC files and streams from untrusted sources. It checks each message
// before Arrow decodes the message, and the decoded columns before the caller receives them.
//
// Arrow's own reader trusts the sizes in a file: it panics on malformed metadata, follows offsets
// without bounds checks, and allocates as much as a length field states. This package therefore
// checks a message in several steps. It reads the message (frame.go), walks its metadata with
// bounds and budgets (flat.go, check.go), and computes the size of compressed buffers before it
// allocates memory for them (compressed.go). Arrow then decodes the message under a recover and
// with a limited allocator (decode.go). Finally the offsets and indices of the columns are checked
// (references.go).
//
// The package guarantees for every source:
//
//   - Malformed data is an error, never a panic. Truncated data is an error as well, unless
//     the truncation is where a [Stream] may end.
//   - Memory grows with the bytes read and with the decompressed size of the current record
//     batch and its dictionaries, not with stated sizes.
//   - The columns of a record are as long as the record batch states. Their offsets,
//     dictionary indices and validity bitmaps lie within the buffers.
//
// The caller must check which columns exist and what their values are.
//
// A [Reader] reads a complete file or stream without dictionaries, as package seq writes them. The
// footer of a file must agree with its messages. A [Stream] also reads files and streams of other
// programs, and a stream that is still being written.
//
// Limits: 1 MiB for the metadata of a message; 1 GiB for the body of a record batch, also after
// decompression, and for all dictionaries together; 64 fields, nested up to 8 deep; 64 MiB for a
// footer; 128 MiB for the window of a ZSTD frame. Big-endian files are refused.
package arrowipc
