package core

import (
	"fmt"
	"log/slog"
	"runtime/debug"

	"github.com/rollcall-go/rollcall/internal/minute"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/track"
)

// faults logs faults of the site's Identify, Tenant, Session and ClientIP, each at most once a
// minute: they are called for many requests.
type faults struct {
	logger                       *slog.Logger
	panicked, refused, addressed minute.Gate
	sessions, devices            minute.Gate
	tenants, strayed, consents   minute.Gate
}

// newFaults returns faults that log to the tracker's logger.
func newFaults(t *track.Tracker) *faults {
	f := &faults{logger: slog.Default()}
	if t != nil {
		f.logger = t.Config().Logger
	}
	return f
}

// identifyPanicked logs a panic. Call it in the deferred function that has recovered it.
func (f *faults) identifyPanicked(value any) {
	if f.panicked.Pass() {
		f.logger.Error("presence: identify panicked; the visitor is taken for a guest",
			slog.String("panic", fmt.Sprint(value)), slog.String("stack", string(debug.Stack())))
	}
}

// tenantPanicked logs a panic. Call it in the deferred function that has recovered it.
func (f *faults) tenantPanicked(value any) {
	if f.tenants.Pass() {
		f.logger.Error("presence: Tenant of the middleware panicked; the visitor sees nothing",
			slog.String("panic", fmt.Sprint(value)), slog.String("stack", string(debug.Stack())))
	}
}

// consentPanicked logs a panic. Call it in the deferred function that has recovered it.
func (f *faults) consentPanicked(value any) {
	if f.consents.Pass() {
		f.logger.Error("presence: Consent of the middleware panicked; the browser gets no cookie",
			slog.String("panic", fmt.Sprint(value)), slog.String("stack", string(debug.Stack())))
	}
}

// invalidTenant logs a tenant that presence refuses.
func (f *faults) invalidTenant(tenant string) {
	if f.strayed.Pass() {
		f.logger.Error("presence: Tenant of the middleware returned a name that is not valid; the visitor sees nothing",
			slog.String("tenant", shown(presence.UserID(tenant))))
	}
}

// maxShownID bounds the part of an id that is logged, in bytes: an invalid one may be long.
const maxShownID = 100

func shown(id presence.UserID) string {
	if len(id) > maxShownID {
		return string(id[:maxShownID]) + "…"
	}
	return string(id)
}

// invalidUser logs a user that presence refuses.
func (f *faults) invalidUser(id presence.UserID, err error) {
	if f.refused.Pass() {
		f.logger.Error("presence: identify returned a user that is not valid; the visitor is taken for a guest",
			slog.String("user", shown(id)), slog.Any("error", err))
	}
}

// clientIPPanicked logs a panic. Call it in the deferred function that has recovered it.
func (f *faults) clientIPPanicked(value any) {
	if f.addressed.Pass() {
		f.logger.Error("presence: ClientIP of the middleware panicked; the address of the connection counts",
			slog.String("panic", fmt.Sprint(value)), slog.String("stack", string(debug.Stack())))
	}
}

// sessionPanicked logs a panic. Call it in the deferred function that has recovered it.
func (f *faults) sessionPanicked(value any) {
	if f.sessions.Pass() {
		f.logger.Error("presence: Session of the middleware panicked; the browser's id names the device",
			slog.String("panic", fmt.Sprint(value)), slog.String("stack", string(debug.Stack())))
	}
}

// invalidSession logs that a session's id was refused. The line does not show the id, which
// may be a token by mistake.
func (f *faults) invalidSession(err error) {
	if f.devices.Pass() {
		f.logger.Error("presence: Session of the middleware returned an id that is not valid; the browser's id names the device",
			slog.Any("error", err))
	}
}
