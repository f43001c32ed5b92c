package presence

import "strings"

// A Holder names what holds a lease: a connection ("<node>.<process>.<n>"), or one of
// the two holders that every store knows.
type Holder string

// Holders that are no connection. A store treats these as rules 5 and 6 say.
const (
	HolderWeb   Holder = "web"   // page views
	HolderGrace Holder = "grace" // the time after a connection was released
)

// IsConnection reports whether h is a connection.
func (h Holder) IsConnection() bool { return h != HolderWeb && h != HolderGrace }

// Node returns the name of the node that has the connection; empty for the other holders.
// A node's name has no dot.
func (h Holder) Node() string {
	if !h.IsConnection() {
		return ""
	}
	node, _, _ := strings.Cut(string(h), ".")
	return node
}

// Process returns the name of the process that has the connection, which is all before the
// last dot: the node's name, and what tells this process from an earlier one of that name.
// It is empty for the other holders. In the store the process has a lease of its own (rule 23).
func (h Holder) Process() string {
	if !h.IsConnection() {
		return ""
	}
	return string(h[:max(strings.LastIndexByte(string(h), '.'), 0)])
}
