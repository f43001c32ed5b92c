// Package site has the names that the code in README and docs takes for granted: those of the
// site, and those of the wiring. TestDocsCode compiles each block of code over them.
package site

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"log"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	g "maragu.dev/gomponents"

	"github.com/rollcall-go/rollcall"
	"github.com/rollcall-go/rollcall/handlers"
	presencehttp "github.com/rollcall-go/rollcall/handlers"
	"github.com/rollcall-go/rollcall/handlers/metrics"
	presencejobs "github.com/rollcall-go/rollcall/jobs"
	presencemw "github.com/rollcall-go/rollcall/middleware/nethttp"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
	"github.com/rollcall-go/rollcall/presence/deliver"
	"github.com/rollcall-go/rollcall/presence/feed"
	"github.com/rollcall-go/rollcall/presence/memstore"
	"github.com/rollcall-go/rollcall/presence/redisstore"
	"github.com/rollcall-go/rollcall/presence/sqlstore"
	"github.com/rollcall-go/rollcall/presence/track"
	"github.com/rollcall-go/rollcall/presence/track/tracktest"
	"github.com/rollcall-go/rollcall/templates"
	presencehtml "github.com/rollcall-go/rollcall/templates"
)

// The site's own.
var (
	ctx     context.Context
	db      *sql.DB
	err     error
	mux     *http.ServeMux
	router  http.Handler
	server  *http.Server
	tenants map[string]string
	text    string
	tx      *sql.Tx
	clone   *template.Template
	views   *template.Template
	yours   template.FuncMap
	ids     []presence.UserID
	w       http.ResponseWriter
	r       *http.Request
	authors []presence.UserID
)

func authorize(*http.Request, presence.Visitor, presence.Topic) bool { return false }
func csrf(next http.Handler) http.Handler                            { return next }
func endSession(http.ResponseWriter, *http.Request)                  {}
func get(*testing.T, http.Handler, string) string                    { return "" }
func gzip(next http.Handler) http.Handler                            { return next }
func identify(*http.Request) (presence.User, bool)                   { return presence.User{}, false }
func logging(next http.Handler) http.Handler                         { return next }
func memberOf(*http.Request) (member struct{ ID, Name string }, ok bool) {
	return member, false
}
func newSite(*track.Tracker) http.Handler         { return nil }
func sendMail(context.Context, feed.Digest) error { return nil }
func sessions(next http.Handler) http.Handler     { return next }
func titleOf(presence.Topic) string               { return "" }
func urlOf(presence.Topic) string                 { return "" }
func whosOnline(next http.Handler) http.Handler   { return next }

// What blocks before have made.
var (
	site      *rollcall.Site
	store     backend.Store
	tracker   *track.Tracker
	runner    *presencejobs.Runner
	widgets   *presencehtml.Widgets
	live      *presencehttp.Handler
	handler   *presencehttp.Handler
	directory *sqlstore.Store
	feeds     *sqlstore.Feeds
	keeper    *feed.Keeper
)
