//go:build lockorder

package track

import (
	"bytes"
	"fmt"
	"runtime"
	"sync"
)

// The mutexes of locks.go. Here Lock panics if the goroutine holds a mutex of the same or a later level. They
// are for tests only, because Lock takes microseconds.
type (
	connectionMutex = ordered[[1]int]
	usersMutex      = ordered[[2]int]
	topicsMutex     = ordered[[3]int]
	peopleMutex     = ordered[[3]int]
	leasesMutex     = ordered[[3]int]
	guestsMutex     = ordered[[3]int]
	outletMutex     = ordered[[4]int]
	groupMutex      = ordered[[5]int]
	viewMutex       = ordered[[5]int]
	writerMutex     = ordered[[6]int]
	outageMutex     = ordered[[7]int]
	answersMutex    = ordered[[7]int]
	newsMutex       = ordered[[7]int]
	relationsMutex  = ordered[[7]int]
	directoryMutex  = ordered[[7]int]
	lastSeenMutex   = ordered[[7]int]
	untilsMutex     = ordered[[7]int]
	signalsMutex    = ordered[[7]int]
	noticesMutex    = ordered[[8]int]
	lifetimeMutex   = ordered[[8]int]
	actsMutex       = ordered[[8]int]
)

// ordered is a mutex. Its level is the length of L.
type ordered[L [1]int | [2]int | [3]int | [4]int | [5]int | [6]int | [7]int | [8]int] struct {
	mu sync.Mutex
}

// held is the levels of the mutexes that each goroutine holds.
var held sync.Map // from goroutine to []int

func (m *ordered[L]) Lock() {
	var l L
	g, level := goroutine(), len(l)
	levels, _ := held.Load(g)
	mine, _ := levels.([]int)
	for _, other := range mine {
		if other >= level {
			panic(fmt.Sprintf("lock order: a mutex of level %d is taken while one of level %d is held; see presence/track/doc.go", level, other))
		}
	}
	m.mu.Lock()
	held.Store(g, append(mine[:len(mine):len(mine)], level))
}

func (m *ordered[L]) Unlock() {
	var l L
	g := goroutine()
	levels, _ := held.Load(g)
	mine, _ := levels.([]int)
	for i := len(mine) - 1; i >= 0; i-- {
		if mine[i] == len(l) {
			rest := append(mine[:i:i], mine[i+1:]...)
			if len(rest) == 0 {
				held.Delete(g)
			} else {
				held.Store(g, rest)
			}
			break
		}
	}
	m.mu.Unlock()
}

// goroutine returns the id of the calling goroutine, from its stack trace.
func goroutine() string {
	buf := make([]byte, 32)
	buf = buf[:runtime.Stack(buf, false)]
	name, _, _ := bytes.Cut(bytes.TrimPrefix(buf, []byte("goroutine ")), []byte(" "))
	return string(name)
}
