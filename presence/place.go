package presence

// A Place is a topic with people in it.
type Place struct {
	Topic  Topic
	Total  int // visible users online
	Guests int
	Users  []Member // the newest, ten at most; empty for a count-only topic
}
