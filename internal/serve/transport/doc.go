// Package transport carries messages between a server and its clients: it opens sockets, cuts
// a stream into messages within limits, writes messages so that it is known who does not read,
// and ends connections so that nothing is lost. It does not know what messages say.
package transport
