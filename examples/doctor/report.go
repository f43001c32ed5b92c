package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"
)

// A report prints verdicts as they come.
type report struct {
	to   io.Writer
	json *json.Encoder // nil: text
}

func newReport(to io.Writer, asJSON bool) *report {
	r := &report{to: to}
	if asJSON {
		r.json = json.NewEncoder(to)
		r.json.SetEscapeHTML(false)
	}
	return r
}

func (r *report) add(c check, v verdict) {
	v.Says, v.Cure = clean(v.Says), clean(v.Cure)
	if r.json != nil {
		_ = r.json.Encode(struct {
			Check string `json:"check"`
			verdict
			See string `json:"see"`
		}{c.name, v, c.see})
		return
	}
	fmt.Fprintf(r.to, "%-7s  %-11s  %s\n", v.State, c.name, v.Says)
	if v.Cure != "" {
		fmt.Fprintf(r.to, "%22sCure: %s\n%22sSee %s\n", "", v.Cure, "", c.see)
	}
}

func (r *report) end(found, all int) {
	switch {
	case r.json != nil:
	case found == 0:
		fmt.Fprintf(r.to, "\nNothing is wrong, as far as %d checks can see from outside.\n", all)
	default:
		fmt.Fprintf(r.to, "\n%d of %d checks found something wrong.\n", found, all)
	}
}

// clean returns text that a site has sent without what would steer a terminal, in one line.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r):
			return -1
		}
		return r
	}, text)
}

// short returns at most 200 letters of text that a site has sent.
func short(text string) string {
	const most = 200
	letters := []rune(strings.ToValidUTF8(text, ""))
	if len(letters) > most {
		return string(letters[:most]) + "…"
	}
	return string(letters)
}
