// Package diff is what all servers send: one change of a roster after another,
// in the same JSON and of the same size for all.
//
// Change n lets a user join where n is even, and the one who joined Crowd joins
// before leave where it is odd, so that the roster keeps its size. Each change
// holds one mark and the user's number behind it, by which a reader counts it
// without parsing; a join also holds when it was made.
//
//	{"topic":"site","cursor":…,"prev":…,"total":64,"joins":{"@00000164":{"name":"1763725381118000000",…}},"leaves":{}}
//	{"topic":"site","cursor":…,"prev":…,"total":64,"joins":{},"leaves":{"@00000100":{"last_seen":"2026-11-21T11:43:01.118Z"}}}
package diff

import (
	"strconv"
	"time"
)

// Crowd is how many users are there between two changes.
const Crowd = 256

// Mark begins a user's name, and stands nowhere else.
const Mark = '@'

// Offsets from a mark, and how much of a change must be there to read it.
const (
	NumberAt  = 1 // eight digits
	NumberEnd = 9
	KindAt    = 13
	TimeAt    = 20 // nineteen digits: nanoseconds since 1970
	KindJoin  = 'n'
	KindLeave = 'l'
	Readable  = 40
)

// User returns the number of the user whom change n is about.
func User(n int) int {
	if n%2 == 0 {
		return n/2 + Crowd
	}
	return n / 2
}

// IsJoin reports whether change n is a join.
func IsJoin(n int) bool { return n%2 == 0 }

// Sum returns the sum of the users' numbers of the changes from first to before end.
func Sum(first, end int) (sum uint64) {
	for n := first; n < end; n++ {
		sum += uint64(User(n))
	}
	return sum
}

// AppendID appends the user id with a number.
func AppendID(b []byte, user int) []byte {
	b = append(b, Mark)
	for d := 10_000_000; d > 0; d /= 10 {
		b = append(b, byte('0'+user/d%10))
	}
	return b
}

// ID returns the user id with a number.
func ID(user int) string { return string(AppendID(nil, user)) }

// Name returns the name of a user who joins at a moment.
func Name(at time.Time) string { return strconv.FormatInt(at.UnixNano(), 10) }

// Append appends change n as an event's data, as Rollcall encodes it. Padding,
// if there is any, goes where a site's own data goes.
func Append(b []byte, n int, at time.Time, padding string) []byte {
	b = append(b, `{"topic":"site","cursor":"`...)
	b = appendCursor(b, n+1)
	b = append(b, `","prev":"`...)
	b = appendCursor(b, n)
	b = append(b, `","total":`...)
	b = strconv.AppendInt(b, int64(Crowd+1-n%2), 10)
	b = append(b, `,"joins":{`...)
	if IsJoin(n) {
		b = append(AppendID(append(b, '"'), User(n)), `":{"name":"`...)
		b = strconv.AppendInt(b, at.UnixNano(), 10)
		b = append(b, `","status":"online","since":"`...)
		b = append(at.UTC().AppendFormat(b, stamp), '"')
		if padding != "" {
			b = append(append(append(b, `,"data":"`...), padding...), '"')
		}
		return append(b, `}},"leaves":{}}`...)
	}
	b = append(AppendID(append(b, `},"leaves":{"`...), User(n)), `":{"last_seen":"`...)
	return append(at.UTC().AppendFormat(b, stamp), `"}}}`...)
}

const stamp = "2006-01-02T15:04:05.000Z07:00"

// appendCursor appends a cursor as long as Rollcall's are.
func appendCursor(b []byte, n int) []byte {
	b = append(b, "1w2ovm9.hdvjfa62-"...)
	return strconv.AppendInt(b, int64(n), 36)
}

// AppendSSE appends change n as a record of an event stream.
func AppendSSE(b []byte, n int, at time.Time, padding string) []byte {
	b = appendCursor(append(b, "event: diff\nid: "...), n+1)
	return append(Append(append(b, "\ndata: "...), n, at, padding), "\n\n"...)
}
