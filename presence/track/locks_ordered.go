//go:build lockorder

package track

import "github.com/rollcall-go/rollcall/internal/lockorder"

// The mutexes of locks.go. Here Lock panics if the goroutine holds a mutex of the same or a later level.
type (
	connectionMutex = lockorder.Mutex[[1]int]
	usersMutex      = lockorder.Mutex[[2]int]
	topicsMutex     = lockorder.Mutex[[3]int]
	peopleMutex     = lockorder.Mutex[[3]int]
	guestsMutex     = lockorder.Mutex[[3]int]
	outletMutex     = lockorder.Mutex[[4]int]
	groupMutex      = lockorder.Mutex[[5]int]
	viewMutex       = lockorder.Mutex[[5]int]
	writerMutex     = lockorder.Mutex[[6]int]
	outageMutex     = lockorder.Mutex[[7]int]
	answersMutex    = lockorder.Mutex[[7]int]
	newsMutex       = lockorder.Mutex[[7]int]
	relationsMutex  = lockorder.Mutex[[7]int]
	directoryMutex  = lockorder.Mutex[[7]int]
	lastSeenMutex   = lockorder.Mutex[[7]int]
	untilsMutex     = lockorder.Mutex[[7]int]
	signalsMutex    = lockorder.Mutex[[7]int]
	noticesMutex    = lockorder.Mutex[[8]int]
	lifetimeMutex   = lockorder.Mutex[[8]int]
	actsMutex       = lockorder.Mutex[[8]int]
	recordsMutex    = lockorder.Mutex[[8]int]
)
