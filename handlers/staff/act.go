package staff

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/rollcall-go/rollcall/internal/problem"
	"github.com/rollcall-go/rollcall/presence"
)

// maxForm is the size of the largest form, in bytes.
const maxForm = 4 << 10

// messages has the message that the page shows after an act, by the value of the parameter done.
var messages = map[string]string{
	"disconnect": "The user was disconnected.",
	"cut":        "The connection was closed. Its page will come back by itself.",
	"reset":      "The record starts anew from now.",
}

// errUnknownAct is the error for a form whose field do names none of the page's acts.
var errUnknownAct = errors.New("the form asks for nothing that this page offers")

// act does what a form asks, and shows the page again.
func (p *Page) act(w http.ResponseWriter, r *http.Request, v presence.Visitor) {
	if p.cfg.CrossOrigin.Check(r) != nil {
		problem.New(http.StatusForbidden, "A page of another origin may not send this form.").Write(w)
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		problem.New(http.StatusBadRequest, "The form cannot be read, or is larger than 4 KiB.").Write(w)
		return
	}
	topic, err := presence.ParseTopic(r.PostForm.Get("topic"))
	if err == nil {
		err = p.do(r.Context(), r.PostForm, v, topic.In(v.Tenant))
	}
	switch {
	case err == nil:
		http.Redirect(w, r, p.cfg.Path+"?topic="+url.QueryEscape(string(topic))+"&done="+url.QueryEscape(r.PostForm.Get("do")), http.StatusSeeOther)
	case errors.Is(err, errUnknownAct), errors.Is(err, presence.ErrInvalidUser), errors.Is(err, presence.ErrInvalidTopic):
		problem.New(http.StatusBadRequest, "The form has do=disconnect with user, do=cut with user and connection, or do=reset; and a topic.").Write(w)
	default:
		p.tracker.Config().Logger.Error("presence: what staff asked for failed", "do", r.PostForm.Get("do"), "by", v.User.ID, "error", err)
		problem.New(http.StatusServiceUnavailable, "That could not be done right now. Try again.").With("Retry-After", "5").Write(w)
	}
}

// do does what a form asks.
func (p *Page) do(ctx context.Context, form url.Values, v presence.Visitor, topic presence.Topic) error {
	ctx, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	by, user := v.User.ID, presence.UserID(form.Get("user"))
	switch form.Get("do") {
	case "disconnect":
		if err := (presence.User{ID: user}).Validate(); err != nil {
			return err
		}
		if end := p.cfg.OnDisconnect; end != nil {
			if err := end(ctx, user); err != nil {
				return err
			}
		}
		return p.tracker.Staff().Disconnect(ctx, by, user.In(v.Tenant), p.cfg.Bar)
	case "cut":
		return p.tracker.Staff().DisconnectConnection(ctx, by, user.In(v.Tenant), presence.Holder(form.Get("connection")))
	case "reset":
		return p.tracker.Staff().ResetPeak(ctx, by, topic)
	}
	return errUnknownAct
}
