package wire

import "strings"

const (
	ToldPrefix  = "t/"
	EventPrefix = "e/"
)

// CutTold splits a text after ToldPrefix into the topic and the user. The name of a tenant's topic contains a
// slash, and a user's id may contain one; but the id of a tenant's user contains the UserSeparator.
func CutTold(rest string) (topic, user string) {
	topic, user, _ = strings.Cut(rest, "/")
	if strings.Contains(user, UserSeparator) {
		local, id, _ := strings.Cut(user, "/")
		topic, user = topic+TopicSeparator+local, id
	}
	return topic, user
}
