//go:build requirements

package arrowipc

// Arrow v15 requires versions of these modules with known vulnerabilities. The program does not use
// their packages. Importing them under a build tag that no build sets keeps newer versions in
// go.mod.
import (
	_ "golang.org/x/net/http2"
	_ "google.golang.org/grpc"
)
