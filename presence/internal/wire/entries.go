package wire

import "strings"

const (
	ToldPrefix  = "t/"
	EventPrefix = "e/"
)

// CutTold parts what stands behind ToldPrefix. The name of a tenant's topic has a slash of its
// own, and so may the id of a user; but a user of a tenant is told by the UserSeparator.
func CutTold(rest string) (topic, user string) {
	topic, user, _ = strings.Cut(rest, "/")
	if strings.Contains(user, UserSeparator) {
		local, id, _ := strings.Cut(user, "/")
		topic, user = topic+TopicSeparator+local, id
	}
	return topic, user
}
