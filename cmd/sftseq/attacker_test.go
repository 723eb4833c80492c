package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"
)

// attackVariable makes the test program an attacker of the server on this socket and this
// address, with a space between them. The last argument names the attack.
const attackVariable = "SFTSEQ_ATTACK_SERVER"

// attacks are what a client may do, in ignorance or in malice, that must not slow others
// down.
var attacks = []struct {
	name    string
	clients int
	run     func(*attacker)
	http    bool
}{
	{name: "nothing", clients: 2, run: (*attacker).nothing},
	{name: "pipeline", clients: 1, run: (*attacker).pipeline},
	{name: "pipelines", clients: 16, run: (*attacker).pipeline},
	{name: "never-readers", clients: 20, run: (*attacker).neverRead},
	{name: "bare-lines", clients: 16, run: (*attacker).bareLines},
	{name: "refusals", clients: 16, run: (*attacker).refusals},
	{name: "searches", clients: 4, run: (*attacker).searches},
	{name: "edits", clients: 2, run: (*attacker).edits},
	{name: "front-edits", clients: 2, run: (*attacker).frontEdits},
	{name: "large-messages", clients: 4, run: (*attacker).largeMessages},
	{name: "http-nothing", clients: 2, run: (*attacker).nothing, http: true},
	{name: "http-long-texts", clients: 16, run: (*attacker).longTexts, http: true},
	{name: "http-broken-bodies", clients: 16, run: (*attacker).brokenBodies, http: true},
	{name: "http-large-bodies", clients: 4, run: (*attacker).largeBodies, http: true},
	{name: "http-wrong-tokens", clients: 16, run: (*attacker).wrongTokens, http: true},
	{name: "http-slow-senders", clients: 100, run: (*attacker).slowSender, http: true},
	{name: "http-never-readers", clients: 20, run: (*attacker).unreadVectors, http: true},
}

// attackUntilKilled runs the clients of an attack, and says when they are connected.
func attackUntilKilled(server, name string) {
	socket, web, _ := strings.Cut(server, " ")
	for _, a := range attacks {
		if a.name != name {
			continue
		}
		var connected sync.WaitGroup
		connected.Add(a.clients)
		for range a.clients {
			go func() {
				for first := true; ; first = false {
					network, address := "unix", socket
					if a.http {
						network, address = "tcp", web
					}
					conn, err := net.Dial(network, address)
					if first {
						connected.Done()
					}
					if err != nil {
						time.Sleep(10 * time.Millisecond)
						continue
					}
					a.run(&attacker{conn: conn, out: bufio.NewWriterSize(conn, 1<<20)})
					conn.Close() // the server has ended it: the attacker comes back
				}
			}()
		}
		connected.Wait()
		fmt.Println("attacking")
		select {}
	}
	fmt.Fprintf(os.Stderr, "no attack %q\n", name)
	os.Exit(1)
}

// attacker is one client, until its connection ends.
type attacker struct {
	conn net.Conn
	out  *bufio.Writer
	id   int
}

// drain reads all answers away.
func (a *attacker) drain() { go io.Copy(io.Discard, a.conn) }

func (a *attacker) send(line string) bool {
	_, err := a.out.WriteString(line + "\n")
	return err == nil
}

func (a *attacker) request(method, params string) bool {
	a.id++
	return a.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, a.id, method, params))
}

func (a *attacker) notify(method, params string) bool {
	return a.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":%s}`, method, params))
}

// jsonText is JSON of a text of n bytes.
func jsonText(n int) string { return `"` + strings.Repeat("x y ", n/4) + `"` }

// nothing keeps a core busy without a request: the cost to others is the machine's, not the server's.
func (a *attacker) nothing() {
	for n := 0; ; n++ {
		runtime.KeepAlive(n)
	}
}

// pipeline asks for classes of long texts without waiting for answers.
func (a *attacker) pipeline() {
	a.drain()
	a.request("initialize", "{}")
	for params := `{"text":` + jsonText(4096) + "}"; a.request("sequence/classify", params); {
	}
}

// neverRead asks and reads nothing, until the server takes no more.
func (a *attacker) neverRead() {
	a.request("initialize", "{}")
	for params := `{"text":` + jsonText(512) + "}"; a.request("sequence/classify", params); {
	}
}

// bareLines pipes short texts as into predict.
func (a *attacker) bareLines() {
	a.drain()
	for line := `{"text":` + jsonText(100) + "}"; a.send(line); {
	}
}

// refusals sends what cannot be answered but by an error.
func (a *attacker) refusals() {
	a.drain()
	a.request("initialize", "{}")
	for a.request("no/such", "{}") && a.send("no JSON") && a.request("sequence/classify", `{"tokens":[-1]}`) {
	}
}

// searches asks for as many items as there may be, again and again.
func (a *attacker) searches() {
	a.drain()
	a.request("initialize", "{}")
	for a.request("retrieval/search", `{"text":"x","k":10000}`) {
	}
}

const openUTF16 = `{"capabilities":{"general":{"positionEncodings":["utf-16"]}}}`

// edits changes a document of 5 MiB in 80,000 places by one message, again and again.
func (a *attacker) edits() {
	const size, count = 5 << 20, 80_000
	a.drain()
	a.request("initialize", openUTF16)
	a.notify("sequence/didOpen", fmt.Sprintf(`{"uri":"a","version":1,"text":%s}`, jsonText(size)))
	var changes strings.Builder
	for i := range count {
		at := i * 7919 % size
		fmt.Fprintf(&changes, `,{"range":{"start":%d,"end":%d},"text":"é"}`, at, at+1)
	}
	for version := 2; a.notify("sequence/didChange", fmt.Sprintf(`{"uri":"a","version":%d,"changes":[%s]}`, version,
		changes.String()[1:])); version++ {
	}
}

// frontEdits inserts at the front of a document of 10 MiB, as slow typing never does.
func (a *attacker) frontEdits() {
	a.drain()
	a.request("initialize", "{}")
	a.notify("sequence/didOpen", fmt.Sprintf(`{"uri":"a","version":1,"text":%s}`, jsonText(10<<20)))
	for version := 2; a.notify("sequence/didChange",
		fmt.Sprintf(`{"uri":"a","version":%d,"changes":[{"range":{"start":0,"end":0},"text":"x"}]}`,
			version)); version++ {
	}
}

// largeMessages sends messages of 8 MiB that are refused when they have been read.
func (a *attacker) largeMessages() {
	a.drain()
	a.request("initialize", "{}")
	for params := `{"tokens":[1` + strings.Repeat(",1", 4<<20) + `,-1]}`; a.request("sequence/classify", params); {
	}
}
