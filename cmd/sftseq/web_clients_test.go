//go:build unix

package main

import (
	"path/filepath"
	"testing"

	"github.com/sftseq/sftseq/internal/testenv"
)

// TestWebClients checks that the server works with the unmodified clients of Cohere, Vercel's AI SDK
// (reranking), LangChain (OpenAI embeddings) and Hugging Face (endpoints).
func TestWebClients(t *testing.T) {
	testenv.NeedPrograms(t, "node")
	const folder = "testdata/web-clients"
	testenv.NeedFile(t, "npm's @ai-sdk/cohere", filepath.Join(folder, "node_modules/@ai-sdk/cohere"))
	pairs := operate(t, "--model", goldenPath("retrieval"), "--http", "127.0.0.1:0")
	single := operate(t, "--model", goldenPath("pre"), "--http", "127.0.0.1:0")
	equal(t, client(t, "", []string{"node", filepath.Join(folder, "clients.mjs")}, pairs.url, single.url),
		`CohereClient 1 1 0.3533
CohereClientV2 1 1 0.3533
rerank 1 1 0.3533
OpenAIEmbeddings 2 32 1.0000
InferenceClient 2 true
`)
}
