//go:build lockorder

package track

import "github.com/rollcall-go/rollcall/internal/lockorder"

// The mutexes of locks.go. Here Lock panics if the goroutine holds a mutex of the same or a later level.
type (
	usersMutex      = lockorder.Mutex[[1]int]
	connectionMutex = lockorder.Mutex[[1]int]
	topicsMutex     = lockorder.Mutex[[2]int]
	peopleMutex     = lockorder.Mutex[[2]int]
	outletMutex     = lockorder.Mutex[[3]int]
	guestsMutex     = lockorder.Mutex[[3]int]
	answersMutex    = lockorder.Mutex[[3]int]
	untilsMutex     = lockorder.Mutex[[3]int]
	groupMutex      = lockorder.Mutex[[4]int]
	viewMutex       = lockorder.Mutex[[4]int]
	writerMutex     = lockorder.Mutex[[4]int]
	outageMutex     = lockorder.Mutex[[4]int]
	newsMutex       = lockorder.Mutex[[4]int]
	relationsMutex  = lockorder.Mutex[[4]int]
	directoryMutex  = lockorder.Mutex[[4]int]
	lastSeenMutex   = lockorder.Mutex[[4]int]
	signalsMutex    = lockorder.Mutex[[4]int]
	noticesMutex    = lockorder.Mutex[[4]int]
	lifetimeMutex   = lockorder.Mutex[[4]int]
	actsMutex       = lockorder.Mutex[[4]int]
	recordsMutex    = lockorder.Mutex[[4]int]
)
