package serve

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"
	"sync/atomic"
)

// Tokens are the bearer tokens of clients. They may be replaced while the server runs.
type Tokens struct {
	hashes atomic.Pointer[[][sha256.Size]byte]
}

// NewTokens returns a set of tokens.
func NewTokens(tokens ...string) *Tokens {
	t := &Tokens{}
	t.Set(tokens...)
	return t
}

// Set replaces all tokens.
func (t *Tokens) Set(tokens ...string) {
	hashes := make([][sha256.Size]byte, len(tokens))
	for i, token := range tokens {
		hashes[i] = sha256.Sum256([]byte(token))
	}
	t.hashes.Store(&hashes)
}

// contains reports whether a token is in the set. It compares the token's SHA-256 with the hashes of
// all tokens in constant time. The time reveals neither the length of a valid token nor which token
// matches.
func (t *Tokens) contains(token string) bool {
	found, equal := sha256.Sum256([]byte(token)), 0
	for _, hash := range *t.hashes.Load() {
		equal |= subtle.ConstantTimeCompare(found[:], hash[:])
	}
	return equal == 1
}

// hasValidToken reports whether a request has a valid token, or the server requires no token.
func (g *gateway) hasValidToken(r *http.Request) bool {
	if g.options.Tokens == nil {
		return true
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	return strings.EqualFold(scheme, "Bearer") && g.options.Tokens.contains(strings.TrimSpace(token))
}
