//go:build !race

package forumtest

const Raced = false
