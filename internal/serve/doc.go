// Package serve serves a model over one stream, as a language server does: requests that can be cancelled, documents
// that are edited, results that are pushed.
//
// A session reads a stream message by message (see [Server.Serve]). Messages whose order matters are handled there
// immediately: bare lines, the lifecycle, edits, cancellation. Every other request is a call, which runs on its own, in
// a method with a file of its own. All sessions share one batcher, which fills the passes of one model.
//
// Packages without knowledge of sessions: sockets and streams of messages (transport), fair turns of CPU time (fair),
// the batcher (batching).
package serve
