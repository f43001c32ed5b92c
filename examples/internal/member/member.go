// Package member is the members and sessions of the smallest examples. A cookie names the
// member, and nobody checks it.
package member

import (
	"net/http"

	"github.com/rollcall-go/rollcall/presence"
)

// Page is the template of a page on which members sign in and out.
const Page = `<!doctype html><title>{{.}}</title>{{presenceHead}}<h1>Who’s online</h1>{{whosOnline "site"}}
<form method="post"><input name="name" pattern="\w+" required> <button>Sign in</button></form><form method="post"><button>Sign out</button></form>`

// Identify returns the member who sends a request, and false for a guest.
func Identify(r *http.Request) (user presence.User, ok bool) {
	if session, err := r.Cookie("name"); err == nil {
		user.ID = presence.UserID(session.Value)
	}
	return user, user.ID != ""
}

// SignIn begins the session of the member whom the form of a request names. Without a name it
// ends the session.
func SignIn(w http.ResponseWriter, r *http.Request) {
	http.SetCookie(w, &http.Cookie{Name: "name", Value: r.FormValue("name"), HttpOnly: true})
}
