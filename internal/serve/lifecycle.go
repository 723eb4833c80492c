package serve

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/sftseq/sftseq/internal/requests"
	"github.com/sftseq/sftseq/internal/rope"
)

// ordered are the requests that change the meaning of later messages. Each is complete before the
// next message is accepted.
var ordered map[string]func(*session, json.RawMessage) (any, error)

// notifications are the handlers of notifications, which run in the order of the stream.
var notifications map[string]func(*session, json.RawMessage) error

// cancelMethod is the only notification besides exit that is handled after shutdown, because earlier
// requests may still be pending.
const cancelMethod = "$/cancelRequest"

func init() {
	ordered = map[string]func(*session, json.RawMessage) (any, error){
		"initialize": (*session).initialize,
		"shutdown":   (*session).shutdown,
	}
	notifications = map[string]func(*session, json.RawMessage) error{
		"initialized":        func(*session, json.RawMessage) error { return nil },
		cancelMethod:         (*session).cancelRequest,
		"sequence/didOpen":   (*session).didOpen,
		"sequence/didChange": (*session).didChange,
		"sequence/didClose":  (*session).didClose,

		"textDocument/didOpen":   (*session).editorDidOpen,
		"textDocument/didChange": (*session).editorDidChange,
		"textDocument/didClose":  (*session).editorDidClose,
	}
}

// positionEncoding is a unit of offsets that a client may negotiate.
type positionEncoding struct {
	name       string    // name in the negotiation
	unit       rope.Unit // unit of offsets in documents
	resultUnit string    // name of the unit in results
}

// positionEncodings are the encodings of LSP. The first is the default, except for editors.
var positionEncodings = []positionEncoding{{"utf-8", rope.Bytes, requests.UTF8},
	{"utf-16", rope.UTF16, requests.UTF16}, {"utf-32", rope.Characters, requests.Characters}}

// negotiate returns the first encoding of the client's list that the server supports, or fallback if
// the list is empty. It returns an error if the server supports none of the encodings.
func negotiate(encodings []string, fallback positionEncoding) (positionEncoding, error) {
	var names []string
	for _, e := range positionEncodings {
		names = append(names, e.name)
	}
	for _, name := range encodings {
		if index := slices.Index(names, name); index >= 0 {
			return positionEncodings[index], nil
		}
	}
	if len(encodings) > 0 {
		return fallback, badParam("capabilities.general.positionEncodings", "expected a list with at least one of %q",
			names)
	}
	return fallback, nil
}

type initializeParams struct {
	ProcessID    *int `json:"processId"`
	Capabilities struct {
		General struct {
			PositionEncodings []string `json:"positionEncodings"`
		} `json:"general"`
		TextDocument struct {
			PublishDiagnostics json.RawMessage `json:"publishDiagnostics"`
		} `json:"textDocument"`
	} `json:"capabilities"`
	ClientInfo struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	} `json:"clientInfo"`
	Locale string `json:"locale"`
}

type initializeResult struct {
	ServerInfo struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	} `json:"serverInfo"`
	Capabilities capabilities `json:"capabilities"`
	Model        modelInfo    `json:"model"`
}

// capabilities describes the server's abilities with the served model.
type capabilities struct {
	PositionEncoding string   `json:"positionEncoding"`
	Methods          []string `json:"methods"`
	Documents        bool     `json:"documents"`
	WindowPolicies   []string `json:"windowPolicies"`

	TextDocumentSync *textDocumentSync `json:"textDocumentSync,omitempty"` // for an editor
}

func (s *session) initialize(params json.RawMessage) (any, error) {
	if s.state != uninitialized {
		return nil, fail(codeInvalidRequest, errorLocation{Found: "initialize"}, "initialize: already called")
	}
	var p initializeParams
	if params != nil {
		if err := unmarshal(wholeParams, params, &p, "an object"); err != nil {
			return nil, err
		}
	}
	model := s.server.acquire()
	defer model.Done()
	editor := p.Capabilities.TextDocument.PublishDiagnostics != nil && model.hasDiagnostics()
	fallback := positionEncodings[0]
	if editor {
		fallback = positionEncodings[1] // the default of LSP
	}
	encoding, err := negotiate(p.Capabilities.General.PositionEncodings, fallback)
	if err != nil {
		return nil, err
	}
	s.unit, s.positionUnit = encoding.unit, encoding.resultUnit
	s.state = running
	if s.stdio && p.ProcessID != nil && *p.ProcessID > 0 {
		s.endWithProcess(*p.ProcessID)
	}
	s.log.Info("initialize", "client", p.ClientInfo.Name, "version", p.ClientInfo.Version)
	var r initializeResult
	r.ServerInfo.Name, r.ServerInfo.Version = "sftseq", s.server.options.Version
	r.Capabilities = capabilities{PositionEncoding: encoding.name, Documents: !model.config.HasFeatures(),
		WindowPolicies: windowPolicies}
	if !model.task.HasWindows() {
		r.Capabilities.WindowPolicies = []string{}
	}
	if editor {
		r.Capabilities.TextDocumentSync = &textDocumentSync{OpenClose: true, Change: fullSync}
	}
	c := &call{session: s, model: model}
	for name, m := range methods {
		c.method = name
		if m.unsupported(c) == "" {
			r.Capabilities.Methods = append(r.Capabilities.Methods, name)
		}
	}
	slices.Sort(r.Capabilities.Methods)
	r.Model = infoOf(model)
	return r, nil
}

func (s *session) shutdown(json.RawMessage) (any, error) {
	switch s.state {
	case uninitialized:
		return nil, fail(codeNotInitialized, errorLocation{Found: "shutdown"},
			"shutdown: the session is not initialized: send initialize first")
	case shutDown:
		return nil, fail(codeInvalidRequest, errorLocation{Found: "shutdown"}, "shutdown: already called")
	}
	s.state = shutDown
	return nil, nil
}

// exit ends the session: after shutdown once all requests are complete, otherwise immediately.
func (s *session) exit() {
	s.exited = true
	if s.state != shutDown {
		s.end(sessionOver("the client sent exit without shutdown"))
	}
	s.documents.close() // the client no longer needs their predictions
}

// endWithProcess ends the session when the client's process dies. The pipe alone does not show this, because
// a child process may keep it open.
func (s *session) endWithProcess(process int) {
	s.workGroup.Go(func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				if !alive(process) {
					s.end(sessionOver("the client's process %d has ended", process))
					return
				}
			case <-s.ctx.Done():
				return
			}
		}
	})
}

// cancelRequest cancels a pending call. It ignores ids of completed calls.
func (s *session) cancelRequest(params json.RawMessage) error {
	fields, err := requests.Fields(params, map[string]bool{"id": true})
	if err != nil {
		return asError(err)
	}
	if fields["id"] == nil {
		return badParam("id", "expected the id of a request, found none")
	}
	s.mu.Lock()
	c := s.ids[keyOf(fields["id"])]
	s.mu.Unlock()
	if c != nil {
		c.cancel(errCancelled)
	}
	return nil
}
