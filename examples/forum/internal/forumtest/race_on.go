//go:build race

package forumtest

// Raced says that the forum runs under the race detector. The detector needs several times the forum's own
// memory and does not free it.
const Raced = true
