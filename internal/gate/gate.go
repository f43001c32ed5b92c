// Package gate has the prices of answers, the accounts of visitors, and lets the code that makes an answer charge the
// visitor who asked for it.
package gate

import "context"

// Prices, in points. A Token is what a visitor's rate counts: a request, and the work that comes with it, which
// is about 0.25 ms of a core, or 50 µs of the store. An answer that is in memory costs its request alone.
const (
	Token    = 60
	Question = Token / 20 // a call of the site's Authorize
	Name     = Token / 20 // a user or a topic about which the store or the Directory is asked
	Item     = Token / 60 // a user who is encoded or rendered anew
	Redrawn  = Token / 4  // a topic's message in an HTML stream, which other streams may share
	Load     = 5 * Token  // a topic that is read from the store
	Renewed  = 30 * Token // an answer of the store that is asked for again each other second, for a minute
	Joined   = Token / 2  // a topic after the first of a stream that is opened: its user is recorded there
)

// Bytes returns the price of an answer of n bytes: a Token for 32 KiB.
func Bytes(n int) int { return n * Token >> 15 }

// When says when an account pays for work.
type When int

// The three ways to pay.
const (
	Before When = iota // if something is left; otherwise the work must not be done
	Spare              // as Before, but only from the upper half of what the visitor may ask for at once
	After              // in any case: the work is done already, and the account may be in debt
)

type payer struct{}

// With returns a context with the account that pays for an answer. take takes points from it, and reports whether the
// account pays.
func With(ctx context.Context, take func(points int, when When) bool) context.Context {
	return context.WithValue(ctx, payer{}, take)
}

// Pays takes points from the account in a context, and reports whether something was left. It returns true where there
// is no account, such as in the site's own pages.
func Pays(ctx context.Context, points int) bool { return takes(ctx, points, Before) }

// Spares is Pays for what can wait, such as the next message of a stream. It leaves half of what the visitor may ask for
// at once to the requests of the visitor, and of others at the address.
func Spares(ctx context.Context, points int) bool { return takes(ctx, points, Spare) }

// Owes takes points for work that is done already. What the visitor asks for next waits until they have come back.
func Owes(ctx context.Context, points int) { takes(ctx, points, After) }

func takes(ctx context.Context, points int, when When) bool {
	take, ok := ctx.Value(payer{}).(func(int, When) bool)
	return !ok || take(points, when)
}
