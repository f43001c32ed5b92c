package templates

import "strconv"

// A Count is what [Page.Total] and the template function onlineTotal return: a number of
// users, or [Unknown]. Templates compare it like any number, and Known tells the two apart:
//
//	{{if gt (onlineTotal "site") 9}}It is busy here.{{end}}
//	{{with $n := onlineTotal .Topic}}{{if $n.Known}}({{$n}} viewing){{end}}{{end}}
//
// In {{if}} and {{with}} only zero is false.
type Count int

// Unknown is the Count of a topic that is not in memory, while the store is slow or out.
// It is less than any number of users.
const Unknown Count = -1

// Known reports whether c is a number of users.
func (c Count) Known() bool { return c >= 0 }

// String returns the number in digits, or an en dash for [Unknown].
func (c Count) String() string {
	if !c.Known() {
		return "–"
	}
	return strconv.Itoa(int(c))
}
