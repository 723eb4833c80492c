package serve

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/sftseq/sftseq/internal/requests"
)

// ordered are the requests that change how the next message is read: they are
// answered before it is.
var ordered map[string]func(*session, json.RawMessage) (any, error)

// notifications are acted on in their order, too.
var notifications map[string]func(*session, json.RawMessage) error

// cancelMethod is the one notification that has a meaning after shutdown: what was
// asked before is still under way.
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
	}
}

// Encodings of positions in documents.
const (
	utf8Positions  = "utf-8" // bytes
	utf16Positions = "utf-16"
)

type initializeParams struct {
	ProcessID    *int `json:"processId"`
	Capabilities struct {
		General struct {
			PositionEncodings []string `json:"positionEncodings"`
		} `json:"general"`
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

// capabilities is what the server does with this model.
type capabilities struct {
	PositionEncoding string   `json:"positionEncoding"`
	Methods          []string `json:"methods"`
	Documents        bool     `json:"documents"`
	WindowPolicies   []string `json:"windowPolicies"`
}

func (s *session) initialize(params json.RawMessage) (any, error) {
	if s.life != uninitialized {
		return nil, fail(codeInvalidRequest, place{Found: "initialize"}, "initialize: it was called before")
	}
	var p initializeParams
	if params != nil {
		if err := unmarshal(wholeParams, params, &p, "an object"); err != nil {
			return nil, err
		}
	}
	encodings := p.Capabilities.General.PositionEncodings
	at := slices.IndexFunc(encodings, func(e string) bool { return e == utf8Positions || e == utf16Positions })
	if len(encodings) > 0 && at < 0 {
		return nil, badParam("capabilities.general.positionEncodings", "expected %q or %q among them",
			utf8Positions, utf16Positions)
	}
	s.utf16 = at >= 0 && encodings[at] == utf16Positions
	s.life = running
	if s.stdio && p.ProcessID != nil && *p.ProcessID > 0 {
		s.watch(*p.ProcessID)
	}
	s.log.Info("initialize", "client", p.ClientInfo.Name, "version", p.ClientInfo.Version)
	model := s.server.acquire()
	defer model.Done()
	var r initializeResult
	r.ServerInfo.Name, r.ServerInfo.Version = "sftseq", s.server.options.Version
	r.Capabilities = capabilities{PositionEncoding: utf8Positions, Documents: !model.config.Featured(),
		WindowPolicies: windowPolicies}
	if !model.task.HasWindows() {
		r.Capabilities.WindowPolicies = []string{}
	}
	if s.utf16 {
		r.Capabilities.PositionEncoding = utf16Positions
	}
	c := &call{session: s, model: model}
	for name, m := range methods {
		c.method = name
		if m.lacking(c) == "" {
			r.Capabilities.Methods = append(r.Capabilities.Methods, name)
		}
	}
	slices.Sort(r.Capabilities.Methods)
	r.Model = infoOf(model)
	return r, nil
}

func (s *session) shutdown(json.RawMessage) (any, error) {
	switch s.life {
	case uninitialized:
		return nil, fail(codeNotInitialized, place{Found: "shutdown"}, "shutdown: initialize comes first")
	case shutDown:
		return nil, fail(codeInvalidRequest, place{Found: "shutdown"}, "shutdown: it was called before")
	}
	s.life = shutDown
	return nil, nil
}

// exit ends the session: after shutdown when all is answered, otherwise at once.
func (s *session) exit() {
	s.exited = true
	if s.life != shutDown {
		s.end(over("the client left without shutdown"))
	}
	s.documents.close() // nobody waits for their classes
}

// watch ends the session when the client's process dies: a pipe may stay open in
// one of its children.
func (s *session) watch(process int) {
	s.work.Go(func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				if !alive(process) {
					s.end(over("the client's process %d is gone", process))
					return
				}
			case <-s.ctx.Done():
				return
			}
		}
	})
}

// cancelRequest cancels a call. One that is answered already is passed over.
func (s *session) cancelRequest(params json.RawMessage) error {
	fields, err := requests.Fields(params, map[string]bool{"id": true})
	if err != nil {
		return asError(err)
	}
	if fields["id"] == nil {
		return badParam("id", "expected that of a request, found none")
	}
	s.mu.Lock()
	c := s.ids[keyOf(fields["id"])]
	s.mu.Unlock()
	if c != nil {
		c.cancel(errCancelled)
	}
	return nil
}
