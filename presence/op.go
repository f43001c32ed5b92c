package presence

import "strings"

// A Holder is the name of what holds a lease: the pages of a user at a node ("<node>.<process>.<n>"), or one of the two
// holders that every store knows. A connection has a name of the same form.
type Holder string

// Holders that are not connections: see rule 3 of backend.Store.
const (
	HolderWeb   Holder = "web"   // page views
	HolderGrace Holder = "grace" // the time after a connection was released
)

// IsConnection reports whether h is a connection.
func (h Holder) IsConnection() bool { return h != HolderWeb && h != HolderGrace }

// Visits is at the end of [Holder.Process] where the holder is that of visits, which outlive the process.
const Visits = "~"

// Node returns the name of the node that has the connection; empty for the other holders. Names of nodes have
// no dot.
func (h Holder) Node() string {
	if !h.IsConnection() {
		return ""
	}
	node, _, _ := strings.Cut(string(h), ".")
	return node
}

// Process returns the name of the process that has the connection: everything before the last dot. It
// consists of the node's name and an id that distinguishes the process from earlier ones of that node. It is
// empty for the other holders. Each process has a lease of its own in the store (rule 7). What a process holds
// by beats alone, of connections at other nodes, has that name with [Visits] after it.
func (h Holder) Process() string {
	if !h.IsConnection() {
		return ""
	}
	return string(h[:max(strings.LastIndexByte(string(h), '.'), 0)])
}
