package hftokenizer

import (
	"encoding/json"
	"errors"

	"golang.org/x/text/unicode/norm"
)

// pattern is a literal text or a regular expression.
type pattern struct {
	String *string `json:"String"`
	Regex  *string `json:"Regex"`
}

// normalizer reads a normalizer, which may be a sequence. For null it returns one that changes nothing.
func (r *reader) normalizer(text json.RawMessage) (normalizer, error) {
	if isNull(text) {
		return normalizers(nil), nil
	}
	n, _, err := readStage(r, text, r.normalizerOf)
	return n, err
}

// forms maps the names of Unicode normalization forms to the forms of package norm.
var forms = map[string]norm.Form{"NFC": norm.NFC, "NFD": norm.NFD, "NFKC": norm.NFKC, "NFKD": norm.NFKD}

func (r *reader) normalizerOf(kind string, text json.RawMessage) (normalizer, error) {
	var bare struct {
		Type string `json:"type"`
	}
	switch kind {
	case "NFC", "NFD", "NFKC", "NFKD":
		return form(forms[kind]), strict(text, &bare)
	case "Lowercase":
		return lowercase{}, strict(text, &bare)
	case "StripAccents":
		r.shortens = true
		return withoutMarks{}, strict(text, &bare)
	case "Strip":
		r.shortens = true
		var o struct {
			Type  string `json:"type"`
			Left  bool   `json:"strip_left"`
			Right bool   `json:"strip_right"`
		}
		err := strict(text, &o)
		return strip{o.Left, o.Right}, err
	case "Prepend":
		var o struct {
			Type    string `json:"type"`
			Prepend string `json:"prepend"`
		}
		err := strict(text, &o)
		return prepend(o.Prepend), err
	case "Replace":
		return r.replace(text)
	case "Precompiled":
		r.shortens = true
		return readPrecompiled(text)
	case "BertNormalizer":
		r.shortens = true
		return readBertNormalizer(text)
	case "Sequence":
		var o struct {
			Type        string          `json:"type"`
			Normalizers json.RawMessage `json:"normalizers"`
		}
		if err := strict(text, &o); err != nil {
			return nil, err
		}
		all, err := readStages(o.Normalizers, r.normalizer)
		return normalizers(all), err
	}
	return nil, errors.New("is not supported: expected BertNormalizer, Lowercase, NFC, NFD, NFKC, NFKD, Precompiled, Prepend, Replace, Sequence, Strip or StripAccents")
}

func (r *reader) replace(text json.RawMessage) (normalizer, error) {
	var o struct {
		Type    string  `json:"type"`
		Pattern pattern `json:"pattern"`
		Content string  `json:"content"`
	}
	if err := strict(text, &o); err != nil {
		return nil, err
	}
	r.shortens = r.shortens || o.Content == ""
	switch p := o.Pattern; {
	case p.String != nil && p.Regex == nil && *p.String != "":
		return replace{old: *p.String, new: o.Content}, nil
	case p.Regex != nil && p.String == nil && *p.Regex == " {2,}" && len(o.Content) <= 3:
		return replace{runs: true, new: o.Content}, nil
	}
	return nil, errors.New("pattern: expected a String that is not empty, or the Regex \" {2,}\" " +
		"with a content of at most 3 bytes")
}

func readBertNormalizer(text json.RawMessage) (normalizer, error) {
	var o struct {
		Type      string `json:"type"`
		Clean     *bool  `json:"clean_text"`
		Chinese   *bool  `json:"handle_chinese_chars"`
		Strip     *bool  `json:"strip_accents"` // nil means the value of lowercase
		Lowercase *bool  `json:"lowercase"`
	}
	if err := strict(text, &o); err != nil {
		return nil, err
	}
	if o.Clean == nil || o.Chinese == nil || o.Lowercase == nil {
		return nil, errors.New("expected clean_text, handle_chinese_chars and lowercase")
	}
	var all normalizers
	if *o.Clean {
		all = append(all, cleaned{})
	}
	if *o.Chinese {
		all = append(all, spacedChinese{})
	}
	if o.Strip == nil && *o.Lowercase || o.Strip != nil && *o.Strip {
		all = append(all, form(norm.NFD), withoutAccents{})
	}
	if *o.Lowercase {
		all = append(all, lowercase{})
	}
	return all, nil
}
