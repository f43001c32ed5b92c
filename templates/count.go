package templates

import "strconv"

// A Count is what onlineCount returns: a number of users, or [Unknown]. In a view
// it is compared as any number, {{if gt (onlineCount "site") 9}}, and Known tells
// the two apart:
//
//	{{with $n := onlineCount .Topic}}{{if $n.Known}}({{$n}} viewing){{end}}{{end}}
//
// It is true in {{if}} and {{with}} unless it is zero.
type Count int

// Unknown is the Count of a topic that the page did not wait for, as the store is
// slow or out. It is less than any number.
const Unknown Count = -1

// Known reports whether c is a number.
func (c Count) Known() bool { return c >= 0 }

// String returns the number in digits, and an en dash for [Unknown].
func (c Count) String() string {
	if !c.Known() {
		return "–"
	}
	return strconv.Itoa(int(c))
}
