package gate

import "sync"

// An Account pays for a request, and for what its stream asks for later.
type Account struct {
	caller Caller
	rates  *Rates

	mu    sync.Mutex
	left  int           // points that are paid for and not used
	wait  func() func() // waits for a lane, and returns the function that leaves it; nil: this request needs no lane
	leave func()        // nil: the request has no lane
}

// NewAccount returns the account of a request that has paid its Token. wait is as [Lanes.Enter]. The caller must call
// Close once the request is answered.
func NewAccount(c Caller, rates *Rates, wait func() (leave func())) *Account {
	return &Account{caller: c, rates: rates, left: Token, wait: wait}
}

// Close leaves the lane of a request. What its stream asks for later needs none.
func (a *Account) Close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.wait = nil; a.leave != nil {
		a.leave()
		a.leave = nil
	}
}

// Take takes points from the caller's rates, by whole tokens, and reports whether there was one. The first time that a
// request asks for more than its own token, it waits for a lane.
func (a *Account) Take(points int, when When) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.left < points {
		tokens := (points - a.left + Token - 1) / Token * Token
		if !a.rates.Take(a.caller, tokens, when) {
			return false
		}
		a.left += tokens
		if when == Before && a.wait != nil {
			a.leave, a.wait = a.wait(), nil
		}
	}
	a.left -= points
	return true
}
