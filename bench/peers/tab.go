package main

import (
	"sync"
	"time"
)

// closeTime is how long the closing of a page may take.
const closeTime = 5 * time.Second

// A closer is the part of a tab that says that it has ended.
type closer struct {
	once *sync.Once
	done chan struct{}
}

func newCloser() closer { return closer{new(sync.Once), make(chan struct{})} }

func (c closer) gone() <-chan struct{} { return c.done }

func (c closer) end() { c.once.Do(func() { close(c.done) }) }
