package main

import (
	"fmt"
	"strings"
	"time"
)

// post writes one request of HTTP, with a body that is as long as it says.
func (a *attacker) post(path, token, body string) bool {
	_, err := fmt.Fprintf(a.out, "POST %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		path, token, len(body), body)
	return err == nil && a.out.Flush() == nil
}

// longTexts asks for classes of long texts without waiting for answers.
func (a *attacker) longTexts() {
	a.drain()
	for body := `{"text":` + jsonText(4096) + "}"; a.post("/classify", httpToken, body); {
	}
}

// brokenBodies sends what is no request in many ways: cut, too deep, of other types, with
// ids that no model has, to paths that are not.
func (a *attacker) brokenBodies() {
	a.drain()
	deep := strings.Repeat("[", 100_000)
	for {
		for path, body := range map[string]string{"/classify": `{"text":`, "/v1/embeddings": `{"model":` + deep, "/embed": `{"tokens":[-1]}`, "/search": "\x00\xff", "/nowhere": "{}"} {
			if !a.post(path, httpToken, body) {
				return
			}
		}
	}
}

// largeBodies sends 8 MiB that are refused when they have been read.
func (a *attacker) largeBodies() {
	a.drain()
	for body := `{"tokens":[1` + strings.Repeat(",1", 4<<20) + `,-1]}`; a.post("/classify", httpToken, body); {
	}
}

// wrongTokens tries tokens, each on a connection of its own, as the server closes it.
func (a *attacker) wrongTokens() {
	a.drain()
	for n := 0; a.post("/classify", fmt.Sprintf("a-wrong-token-%06d", n), `{"text":"x"}`); n++ {
	}
}

// slowSender begins a request and sends a byte now and then.
func (a *attacker) slowSender() {
	a.drain()
	request := "POST /classify HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + httpToken + "\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n" + strings.Repeat(" ", 1000)
	for i := range len(request) {
		if _, err := a.conn.Write([]byte{request[i]}); err != nil {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// unreadVectors asks for vectors and reads nothing, until the server takes no more.
func (a *attacker) unreadVectors() {
	for body := `{"model":"x","input":[` + strings.Repeat(`"x",`, 100) + `"x"]}`; a.post("/v1/embeddings", httpToken, body); {
	}
}
