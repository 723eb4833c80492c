// Package serve answers questions about long sequences over one stream, as a
// language server does: requests that can be cancelled, documents that are
// edited, results that are pushed.
//
// A stream is read by a session, message by message (see [Server.Serve]). What
// depends on order happens there, at once: bare lines, the lifecycle, edits,
// cancellation. Every other request is a call, which runs on its own, in a method
// with a file of its own. All sessions share one batcher, which fills the passes of
// one model.
//
// What knows nothing of sessions has packages of its own: sockets and streams of
// messages (transport), turns of the processor (fair), the batcher (batching).
package serve
