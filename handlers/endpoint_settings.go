package handlers

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/presence"
)

// settingsJSON is the JSON of a user's settings.
type settingsJSON struct {
	Status presence.Status   `json:"status"`
	Text   string            `json:"text"`
	Until  string            `json:"until,omitempty"` // left out: the status has no end
	Online presence.Audience `json:"online"`
	Seen   presence.Audience `json:"seen"`
}

// ownSettings answers with the visitor's settings, or changes those that the body names.
func (e *peopleEndpoints) ownSettings(w http.ResponseWriter, r *http.Request, v presence.Visitor) error {
	if r.Method == http.MethodPut {
		return e.putSettings(w, r, v.User.ID)
	}
	s, err := e.tracker.People().Settings(r.Context(), v.User.ID)
	if err != nil {
		return err
	}
	s = s.At(time.Now())
	return writeFresh(w, settingsJSON{s.Status, s.Text, rfc3339(s.Until), s.Online, s.Seen})
}

func (e *peopleEndpoints) putSettings(w http.ResponseWriter, r *http.Request, user presence.UserID) error {
	body, err := readBody(w, r, e.cfg.MaxBody)
	if err != nil {
		return err
	}
	change, err := parseSettings(body, time.Now())
	if err != nil {
		return err
	}
	if err := e.choices.change(r.Context(), user, change); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// A settingsChange has the changes that a request makes to a user's settings. A nil field changes nothing.
type settingsChange struct {
	status       *presence.Status
	text         *string
	until        *time.Time // zero: the status has no end
	online, seen *presence.Audience
}

// maxFor is the longest time for which a status may be chosen.
const maxFor = 365 * 24 * time.Hour

// parseSettings parses the change in a JSON object. An unknown field is an error: a page that misspells a
// setting must not get the answer that it was saved.
func parseSettings(body []byte, now time.Time) (settingsChange, error) {
	var c settingsChange
	fields, err := eachField(body, `{"online":"contacts","seen":"nobody"}`, func(name string, value json.RawMessage) error {
		return c.set(name, value, now)
	})
	if err != nil {
		return c, err
	}
	if fields["for"] != nil && fields["until"] != nil {
		return c, badRequest("Give either for or until, and not both.")
	}
	return c, nil
}

// set reads one field of a request.
func (c *settingsChange) set(name string, value json.RawMessage, now time.Time) error {
	switch name {
	case "status":
		word, _ := jsonString(value)
		status, err := presence.ParseStatus(word)
		if err != nil {
			return notAWord(name, value, "online, away, busy or invisible")
		}
		c.status = &status
	case "online", "seen":
		word, _ := jsonString(value)
		audience, err := presence.ParseAudience(word)
		if err != nil {
			return notAWord(name, value, "everyone, contacts or nobody")
		}
		if name == "online" {
			c.online = &audience
		} else {
			c.seen = &audience
		}
	case "text":
		text, ok := jsonString(value)
		if !ok || (presence.Settings{Text: text}).Validate() != nil {
			return badRequest("The text is a string of at most " + strconv.Itoa(presence.MaxTextLen) + " bytes, without control characters.")
		}
		c.text = &text
	case "for":
		until, err := parseFor(value, now)
		if err != nil {
			return err
		}
		c.until = &until
	case "until":
		text, _ := jsonString(value)
		until, err := time.Parse(time.RFC3339, text)
		if err != nil || !until.After(now) || until.After(now.Add(maxFor)) {
			return badRequest("The value of until is a moment within a year from now, such as 2026-11-21T06:57:00Z.")
		}
		c.until = &until
	default:
		return badRequest("There is no setting " + shown(name) + ". The settings are status, text, for, until, online and seen.")
	}
	return nil
}

// parseFor returns when a number of seconds from now is over; zero: no end.
func parseFor(value json.RawMessage, now time.Time) (until time.Time, err error) {
	var seconds *int64
	if json.Unmarshal(value, &seconds) != nil || seconds == nil || *seconds < 0 || *seconds > int64(maxFor/time.Second) {
		return until, badRequest("The value of for is a whole number of seconds from 0, which is no end, to " + strconv.Itoa(int(maxFor/time.Second)) + ".")
	}
	if *seconds > 0 {
		until = now.Add(time.Duration(*seconds) * time.Second)
	}
	return until, nil
}

// jsonString returns a JSON string, and reports whether the value is one.
func jsonString(value json.RawMessage) (string, bool) {
	var s *string
	if json.Unmarshal(value, &s) != nil || s == nil {
		return "", false
	}
	return *s, true
}

// notAWord is the error for a value that is none of some words.
func notAWord(field string, value json.RawMessage, words string) error {
	return badRequest("The value of " + field + " is " + words + ", and not " + shown(string(value)) + ".")
}

// shown returns a text of the client for use in the answer: quoted, and cut if it is long.
func shown(s string) string {
	if word, ok := jsonString(json.RawMessage(s)); ok {
		s = word
	}
	const most = 40
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return strconv.Quote(s)
}

// apply returns the settings after the change.
//
// An end belongs to the status and the text with which it was given. A new status without an end has none, and
// removes a text that had an end. Example: Alice is busy, "in a call", for an hour. After ten minutes she
// chooses to be invisible. The new status has no end, and the text is removed.
func (c settingsChange) apply(s presence.Settings, now time.Time) presence.Settings {
	ended := !s.Until.IsZero() && !s.Until.After(now)
	if ended {
		s.Status = ""
	}
	if ended || c.status != nil && c.until == nil && !s.Until.IsZero() {
		s.Text, s.Until = "", time.Time{}
	}
	replace(&s.Status, c.status)
	replace(&s.Text, c.text)
	replace(&s.Until, c.until)
	replace(&s.Online, c.online)
	replace(&s.Seen, c.seen)
	return s
}

func replace[T any](old *T, with *T) {
	if with != nil {
		*old = *with
	}
}

// ofStatus reports whether the change concerns what others see beside the user's name.
func (c settingsChange) ofStatus() bool { return c.status != nil || c.text != nil || c.until != nil }
