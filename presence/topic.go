package presence

import (
	"fmt"
	"strings"

	"github.com/rollcall-go/rollcall/presence/internal/wire"
)

// A Topic is a scope in which people are present: 1 to 128 bytes of
// A-Z a-z 0-9 _ - . and the colon, which by convention ends a topic's kind
// ("thread:42" is of kind "thread").
type Topic string

// Site is the topic of the whole site, in which page views are recorded.
const Site Topic = "site"

// MaxTopicLen is the length of the longest valid topic, in bytes.
const MaxTopicLen = 128

// ParseTopic returns s as a Topic, or an error that is [ErrInvalidTopic] and
// says what is wrong with it.
func ParseTopic(s string) (Topic, error) {
	if s == "" {
		return "", fmt.Errorf("%w: it is empty", ErrInvalidTopic)
	}
	if len(s) > MaxTopicLen {
		return "", fmt.Errorf("%w: it has %d bytes, and %d are allowed", ErrInvalidTopic, len(s), MaxTopicLen)
	}
	for i := range len(s) {
		if !wire.TopicByte(s[i]) {
			return "", fmt.Errorf("%w: byte %d is none of A-Z a-z 0-9 _ - . and the colon", ErrInvalidTopic, i+1)
		}
	}
	return Topic(s), nil
}

// Kind returns what stands before the first colon ("thread" of "thread:42"),
// or the whole topic where there is none, without the tenant. Metrics are labelled by it, so that
// labels stay few.
func (t Topic) Kind() string {
	kind, _, _ := strings.Cut(string(t.Local()), ":")
	return kind
}

// Reserved reports whether the name of a topic begins with "@". Such a topic is for internal use: ParseTopic
// refuses the name, so no request and no kind in track.Config.Kinds can have it, and no list of topics and no
// metric shows it. Whether its users are devices is another question: backend.DevicesTopic alone has these.
func (t Topic) Reserved() bool { return strings.HasPrefix(string(t.Local()), "@") }
