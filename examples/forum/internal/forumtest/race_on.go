//go:build race

package forumtest

// Raced says that the forum runs under the race detector, which keeps several times
// the forum's own memory and does not give it back.
const Raced = true
