package serve

import (
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/sftseq/sftseq/internal/requests"
	"github.com/sftseq/sftseq/sft/config"
)

// An editor opens documents with LSP's own notifications, and the server sends the spans of a
// tagging model as diagnostics. The server requests whole texts, because LSP gives the range of a change
// as line positions.

// textDocumentSync selects the notifications that an editor sends.
type textDocumentSync struct {
	OpenClose bool `json:"openClose"`
	Change    int  `json:"change"`
}

// fullSync makes an editor send the whole text with each change.
const fullSync = 1

const publishDiagnostics = "textDocument/publishDiagnostics"

// diagnostics are the params of [publishDiagnostics].
type diagnostics struct {
	URI         string       `json:"uri"`
	Version     *int64       `json:"version,omitempty"`
	Diagnostics []diagnostic `json:"diagnostics"`
}

// diagnostic is a span that an editor underlines, or an error.
type diagnostic struct {
	Range    lineRange `json:"range"`
	Severity int       `json:"severity"`
	Code     string    `json:"code,omitempty"` // the label
	Source   string    `json:"source"`
	Message  string    `json:"message"`
}

const (
	severityWarning     = 2
	severityInformation = 3
	diagnosticSource    = "sftseq"
)

// lineRange is a half-open range in a text.
type lineRange struct {
	Start linePosition `json:"start"`
	End   linePosition `json:"end"`
}

// linePosition is a position in a text: the line, from 0, and the offset in the line, in the
// session's unit.
type linePosition struct {
	Line      int `json:"line"`
	Character int `json:"character"`
}

// hasDiagnostics reports whether the model predicts spans of texts.
func (m *served) hasDiagnostics() bool { return m.task.HasPositions() && !m.config.HasFeatures() }

// editorFieldSet are the supported fields of textDocument/did… notifications.
var editorFieldSet = map[string]bool{"textDocument": true, "contentChanges": true}

// fromEditor converts the params of a textDocument/did… notification to the fields of
// sequence/did….
func (s *session) fromEditor(params json.RawMessage, known map[string]bool) (map[string]json.RawMessage, error) {
	var outer map[string]json.RawMessage
	var err error
	if stopped := s.share.Do(s.ctx, len(params),
		func() { outer, err = objectFields(wholeParams, params, editorFieldSet) }); stopped != nil {
		return nil, stopped
	}
	if err != nil {
		return nil, err
	}
	if outer["textDocument"] == nil {
		return nil, badParam("textDocument", "expected an object, found none")
	}
	fields, err := s.object(outer["textDocument"], known)
	if changes := outer["contentChanges"]; fields != nil && changes != nil {
		fields["changes"] = changes
	}
	return fields, err
}

// editorDidOpen implements textDocument/didOpen.
func (s *session) editorDidOpen(params json.RawMessage) error {
	fields, err := s.fromEditor(params, openFields)
	return s.openDocument(fields, err, true)
}

// editorDidChange implements textDocument/didChange.
func (s *session) editorDidChange(params json.RawMessage) error {
	fields, err := s.fromEditor(params, changeFields)
	return s.changeDocument(fields, err)
}

// editorDidClose implements textDocument/didClose and clears the document's diagnostics.
func (s *session) editorDidClose(params json.RawMessage) error {
	fields, err := s.fromEditor(params, closeFields)
	err = s.closeDocumentByURI(fields, err)
	if uri, bad := documentURI(fields); bad == nil {
		s.notify(publishDiagnostics, diagnostics{URI: uri, Diagnostics: []diagnostic{}})
	}
	return err
}

// diagnostics returns the spans of a text as diagnostics, or a warning if the spans have no positions in
// the text.
func (c *call) diagnostics(text string, out publication) []diagnostic {
	shown := []diagnostic{}
	spans, ok := out.prediction.(requests.Spans)
	switch {
	case !ok:
		return shown
	case spans.Unit == requests.Tokens && len(spans.Spans) > 0:
		return append(shown, diagnostic{Severity: severityWarning, Source: diagnosticSource,
			Message: "the model's tokenizer does not provide token positions in the text"})
	}
	offsets := make([]int, 0, 2*len(spans.Spans))
	for _, x := range spans.Spans {
		offsets = append(offsets, x.Start, x.End)
	}
	slices.Sort(offsets)
	var positions map[int]linePosition
	if c.do(len(text), func() { positions = linePositions(text, spans.Unit, slices.Compact(offsets)) }) != nil {
		return shown
	}
	for _, x := range spans.Spans {
		shown = append(shown, diagnosticOf(x, positions))
	}
	return shown
}

func diagnosticOf(x config.Span, positions map[int]linePosition) diagnostic {
	return diagnostic{Range: lineRange{positions[x.Start], positions[x.End]}, Severity: severityInformation,
		Code: x.Label, Source: diagnosticSource, Message: fmt.Sprintf("%s %.2f", x.Label, x.Score)}
}

// linePositions returns the line positions of ascending offsets in the given unit. Lines end with
// \n, \r or \r\n.
func linePositions(text, unit string, offsets []int) map[int]linePosition {
	out := make(map[int]linePosition, len(offsets))
	position, n := linePosition{}, 0
	record := func() {
		for len(offsets) > 0 && offsets[0] <= n {
			out[offsets[0]] = position
			offsets = offsets[1:]
		}
	}
	for offset := 0; offset < len(text); {
		record()
		r, size := utf8.DecodeRuneInString(text[offset:])
		offset += size
		width := requests.Width(r, size, unit)
		n += width
		position.Character += width
		if r == '\n' || r == '\r' && !(offset < len(text) && text[offset] == '\n') {
			position = linePosition{Line: position.Line + 1}
		}
	}
	record()
	return out
}
