package handlers

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/feed"
)

// notifications marks items of the visitor's inbox, or mutes the subject of one.
func (e *formEndpoints) notifications(r *http.Request, v presence.Visitor, _ string, form url.Values) error {
	ctx, cancel := storeContext(r)
	defer cancel()
	if form.Get("do") == "mute" {
		how, err := feed.ParseHow(form.Get("how"))
		if err != nil {
			return err
		}
		mute := feed.Mute{Scope: form.Get("scope"), How: how}
		if err := mute.Validate(); err != nil {
			return err
		}
		return e.cfg.Feeds.Mute(ctx, v.User.ID, mute)
	}
	mark, err := markOf(form)
	if err != nil {
		return err
	}
	_, err = e.cfg.Feeds.Mark(ctx, feed.Inbox(v.User.ID), mark)
	return err
}

// markOf returns the mark that a form names.
func markOf(form url.Values) (feed.Mark, error) {
	as := form.Get("do")
	if as == "archive" {
		as = feed.Archived.String()
	}
	fields := map[string]json.RawMessage{"as": asText(as)}
	if form.Get("about") != "" {
		fields["about"] = asText(form.Get("about"))
	}
	if form.Has("pos") {
		fields["pos"] = json.RawMessage("[" + strings.Join(form["pos"], ",") + "]")
	}
	if form.Has("upto") {
		fields["upto"] = json.RawMessage(form.Get("upto"))
	}
	var m markRequest
	for name, value := range fields {
		if err := m.set(name, value); err != nil {
			return m.mark, err
		}
	}
	return m.mark, m.mark.Validate()
}
