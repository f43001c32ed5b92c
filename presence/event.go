package presence

// EventType is what an [Event] says.
type EventType string

// The events of a topic.
const (
	EventState     EventType = "state"     // the roster at a cursor
	EventDiff      EventType = "diff"      // joins and leaves since the one before
	EventCount     EventType = "count"     // totals only, at most one a second, for a topic over the roster limit
	EventHeartbeat EventType = "heartbeat" // nothing new; totals
	EventSignal    EventType = "signal"    // a message that is not kept, such as who is typing: see [Signal]
)

// An Event is one message for the readers of a topic. Data is encoded once and
// shared by all who get it: it must not be changed.
type Event struct {
	Type   EventType
	Topic  Topic
	Cursor Cursor // the topic's version after it
	ID     Cursor // the connection's cursor after it: all its topics; empty for a signal
	Data   []byte // one JSON object, without line breaks
}
