package main

import (
	"bytes"
	"fmt"
	"strconv"
	"time"
)

// The topic in which all happens.
const topic = "thread:1"

// A mark begins a moment in nanoseconds since 1970, behind which comes the number of the
// member: that of a word, or that of a change of the roster.
const (
	wordMark   = '~'
	changeMark = '^'

	momentDigits = 19
	memberDigits = 5
	markSize     = 1 + momentDigits + memberDigits
)

// stamp is in each word and each join: when it was, and whose it is.
func stamp(mark byte, at time.Time, member int) string {
	return fmt.Sprintf("%c%0*d%0*d", mark, momentDigits, at.UnixNano(), memberDigits, member)
}

// memberID is a member's id, with every server.
func memberID(n int) string { return "m" + strconv.Itoa(n) }

// word is what a member says to the peers: what Rollcall shows of a signal.
func word(member int, at time.Time) string {
	return fmt.Sprintf(`{"type":"typing","v":1,"from":%q,"name":"Member %d","for":6,"data":%q}`,
		memberID(member), member, stamp(wordMark, at, member))
}

// scan calls found with each mark in b, and returns how much of b it has read: the rest may be
// a mark that is cut.
func scan(b []byte, found func(mark byte, at int64, member int)) (read int) {
	for i := 0; ; {
		next := bytes.IndexAny(b[i:], "~^")
		if next < 0 {
			return len(b)
		}
		i += next
		rest := b[i+1:]
		digits := 0
		for digits < min(len(rest), markSize-1) && '0' <= rest[digits] && rest[digits] <= '9' {
			digits++
		}
		switch {
		case digits == markSize-1:
			found(b[i], number(rest[:momentDigits]), int(number(rest[momentDigits:markSize-1])))
			i += markSize
		case digits == len(rest):
			return i
		default:
			i++
		}
	}
}

// number reads decimal digits.
func number(p []byte) (n int64) {
	for _, d := range p {
		n = n*10 + int64(d-'0')
	}
	return n
}
