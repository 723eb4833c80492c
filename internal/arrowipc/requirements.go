//go:build requirements

package arrowipc

// Arrow v15 asks for versions of these modules that have known faults. No
// package of theirs is part of the program; named here, under a tag that no
// build sets, they stay at a newer version in go.mod.
import (
	_ "golang.org/x/net/http2"
	_ "google.golang.org/grpc"
)
