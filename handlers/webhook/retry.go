package webhook

import (
	"math/rand/v2"
	"time"
)

// When an event is posted again: after 5 s, 10 s, 20 s, 40 s, and then every 45 s until it is a quarter of an
// hour old. After that each wait is a fifth of the event's age, and at most an hour. Jitter shortens each wait
// by up to a quarter. A post without an answer takes 10 s, so the time from one post to the next stays under a
// minute.
const (
	firstWait = 5 * time.Second
	earlyWait = 45 * time.Second
	lateWait  = time.Hour
	early     = 15 * time.Minute
)

// backoff returns the wait after the given try of an event of the given age.
func backoff(try int, age time.Duration) time.Duration {
	most := earlyWait
	if age >= early {
		most = min(age/5, lateWait)
	}
	wait := min(firstWait<<min(max(try-1, 0), 20), most)
	return wait - rand.N(wait/4)
}
