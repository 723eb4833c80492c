package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// webRequest is an HTTP request that an attacker sends repeatedly.
type webRequest struct {
	path, token, body string
	status            int // expected status of the response
}

// Requests of attackers over HTTP.
var (
	longText   = webRequest{"/classify", httpToken, `{"text":` + jsonText(4096) + "}", 200}
	largeBody  = webRequest{"/classify", httpToken, `{"tokens":[1` + strings.Repeat(",1", 4<<20) + `,-1]}`, 400}
	wrongToken = webRequest{"/classify", "another-token-000000", `{"text":"x"}`, 401}
	embeddings = webRequest{"/embed", httpToken, `{"sequences":[` + strings.Repeat(`{"text":"x"},`,
		100) + `{"text":"x"}]}`, 200}
	invalidRequests = []webRequest{ // truncated, nested too deeply, invalid token id, not JSON, unknown path
		{"/classify", httpToken, `{"text":`, 400},
		{"/v1/embeddings", httpToken, `{"model":` + strings.Repeat("[", 100_000), 400},
		{"/embed", httpToken, `{"tokens":[-1]}`, 400},
		{"/search", httpToken, "\x00\xff", 400},
		{"/nowhere", httpToken, "{}", 404},
	}
)

// checkAttackRequests checks that the server responds to each request of the attackers with the expected
// status.
func checkAttackRequests(t *testing.T, server attackedProcess) {
	t.Helper()
	for _, r := range append(invalidRequests, longText, largeBody, wrongToken, embeddings) {
		if status, response, err := server.request(http.DefaultClient, r.path, r.token, r.body); err != nil ||
			status != r.status {
			t.Errorf("%s %.60s: got status %d, response %.200s, error %v; want status %d", r.path, r.body, status,
				response, err, r.status)
		}
	}
}

// post writes a POST request whose Content-Length matches its body.
func (a *attacker) post(r webRequest) bool {
	_, err := fmt.Fprintf(a.out,
		"POST %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		r.path, r.token, len(r.body), r.body)
	return err == nil && a.out.Flush() == nil
}

// repeat sends requests without waiting for responses and discards the responses.
func (a *attacker) repeat(requests ...webRequest) {
	a.drain()
	for {
		for _, r := range requests {
			if !a.post(r) {
				return
			}
		}
	}
}

func (a *attacker) longTexts()    { a.repeat(longText) }
func (a *attacker) largeBodies()  { a.repeat(largeBody) }
func (a *attacker) brokenBodies() { a.repeat(invalidRequests...) }

// wrongTokens sends requests with a wrong token. The server closes the connection after each, and
// the attacker reconnects.
func (a *attacker) wrongTokens() { a.repeat(wrongToken) }

// slowSender begins a request and sends one byte every 20 ms.
func (a *attacker) slowSender() {
	a.drain()
	request := "POST /classify HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + httpToken +
		"\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n" + strings.Repeat(" ", 1000)
	for i := range len(request) {
		if _, err := a.conn.Write([]byte{request[i]}); err != nil {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// unreadEmbeddings requests embeddings without reading a response, until a write fails. Once the
// server stops reading, writes block.
func (a *attacker) unreadEmbeddings() {
	for a.post(embeddings) {
	}
}
