// Package arrowipc reads Arrow IPC files and streams from anywhere, and has Arrow decode
// only what it has checked.
//
// Arrow's own reader believes what a file says about its sizes: it panics on malformed
// metadata, follows offsets without bounds, and allocates what a length field asks for.
// So nothing reaches it unchecked. A message is framed here (frame.go), its metadata is
// walked with bounds and budgets (flat.go, check.go), and what its compressed buffers hold
// is computed before memory is taken for it (compressed.go). Only then does Arrow decode
// it, under a recover and an allocator with a limit (decode.go), and what its columns refer
// to is looked for (references.go).
//
// This holds of every source:
//
//   - What is malformed is an error, never a panic. So is what was cut off, unless the cut
//     is where a [Stream] may end.
//   - Memory grows with the bytes read, and with what the record batch at hand takes after
//     decompression, not with the sizes that are stated.
//   - The columns of a record are as long as the record batch says. Their offsets, their
//     numbers into dictionaries and their validity bitmaps lie within the buffers.
//
// Which columns there are and what their values may be is for the caller to check.
//
// A [Reader] expects a whole file or stream without dictionaries, whose footer agrees with
// its messages, as package seq writes it. A [Stream] also takes what other programs write,
// and a stream that still grows.
//
// Limits: metadata of a message 1 MiB, body of a record batch 1 GiB (also after
// decompression), and as much for all dictionaries together, 64 columns that nest 8 deep,
// 64 MiB for a footer, 128 MiB for the window that a ZSTD frame asks for. Big-endian
// files are refused.
package arrowipc
