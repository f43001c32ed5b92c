//go:build !lockorder

package track

import "sync"

// The mutexes of this package, one type each, in the order in which a goroutine may take
// them: see "Locks" in doc.go. With the build tag lockorder they check that order, and
// `go test -tags lockorder ./presence/track` fails where it is broken.
type (
	usersMutex      = sync.Mutex
	connectionMutex = sync.Mutex
	topicsMutex     = sync.Mutex
	peopleMutex     = sync.Mutex
	outletMutex     = sync.Mutex
	guestsMutex     = sync.Mutex
	answersMutex    = sync.Mutex
	untilsMutex     = sync.Mutex
	groupMutex      = sync.Mutex
	viewMutex       = sync.Mutex
	writerMutex     = sync.Mutex
	outageMutex     = sync.Mutex
	newsMutex       = sync.Mutex
	relationsMutex  = sync.Mutex
	noticesMutex    = sync.Mutex
	lifetimeMutex   = sync.Mutex
	actsMutex       = sync.Mutex
	recordsMutex    = sync.Mutex
	directoryMutex  = sync.Mutex
	lastSeenMutex   = sync.Mutex
	signalsMutex    = sync.Mutex
)
