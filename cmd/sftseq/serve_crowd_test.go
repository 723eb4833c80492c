//go:build unix

package main

import (
	"fmt"
	"regexp"
	"strconv"
	"testing"

	"github.com/sftseq/sftseq/internal/testenv"
)

// TestNodeConcurrentRequests sends 40 concurrent requests from Node's fetch to a server with
// --max-clients 4. Each request must get status 200 or 429. Node would hang on a connection that the
// server resets before the request.
func TestNodeConcurrentRequests(t *testing.T) {
	testenv.NeedPrograms(t, "node")
	o := operate(t, "--model", goldenPath("pre"), "--http", "127.0.0.1:0", "--max-clients", "4")
	out := client(t, "", []string{"node", "--input-type=module", "-e"}, fmt.Sprintf(`
const send = () => fetch('%s/classify', { method: 'POST', headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify({ tokens: Array(2000).fill(1) }), signal: AbortSignal.timeout(20000) }).then(
  async (r) => { await r.text(); return r.status; },
  ({ name, cause }) => name === 'TimeoutError' ? name : cause?.code ?? name);
setTimeout(() => {}, 30000); // a timeout signal alone does not keep Node running
const got = {};
for (const end of await Promise.all(Array.from({ length: 40 }, send))) got[end] = (got[end] ?? 0) + 1;
console.log(JSON.stringify(got));
process.exit();`, o.url))
	served := regexp.MustCompile(`"(200|429)":(\d+)`).FindAllStringSubmatch(out, -1)
	sum := 0
	for _, end := range served {
		n, _ := strconv.Atoi(end[2])
		sum += n
	}
	if sum != 40 {
		t.Errorf("got %d responses of status 200 or 429, want 40:\n%s", sum, out)
	}
	t.Log(out)
}
