package wire

import (
	"encoding/json"
	"time"
)

// The JSON of events is encoded once and shared by every reader. It is built by hand
// from members that keep their JSON, so a state of a hundred users is mostly copying.

// TimeLayout is RFC 3339 with milliseconds, in UTC.
const TimeLayout = "2006-01-02T15:04:05.000Z07:00"

// AppendString appends s as a JSON string that is also safe inside HTML.
func AppendString(b []byte, s string) []byte {
	if plain(s) {
		return append(append(append(b, '"'), s...), '"')
	}
	quoted, _ := json.Marshal(s) // cannot fail for a string
	return append(b, quoted...)
}

// plain reports whether a string needs no escaping, as most do.
func plain(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case c < ' ', c > '~', c == '"', c == '\\', c == '<', c == '>', c == '&':
			return false
		}
	}
	return true
}

// AppendRaw appends the site's own JSON on one line, because a line break would end an SSE field.
func AppendRaw(b []byte, raw json.RawMessage) []byte {
	compact, err := json.Marshal(raw)
	if err != nil {
		return append(b, "null"...) // Validate has checked it before, but a store may have lost bytes
	}
	return append(b, compact...)
}

// AppendTime appends a time as a JSON string.
func AppendTime(b []byte, t time.Time) []byte {
	b = append(b, '"')
	b = t.UTC().AppendFormat(b, TimeLayout)
	return append(b, '"')
}
