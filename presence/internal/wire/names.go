package wire

// MaxDiffIDLen is the length of the longest presence.DiffID, in bytes.
const MaxDiffIDLen = 40

// DeviceSeparator is in no UserID: control characters are refused.
const DeviceSeparator = "\x1e"

// Separators of names inside. ParseTopic refuses the first, User.Validate the second. The store appends 0x1F
// to the ids of users, and ids of devices contain 0x1E.
const (
	TopicSeparator = "/"
	UserSeparator  = "\x1d"
)

// TopicByte reports whether a topic may have a byte.
func TopicByte(b byte) bool {
	switch {
	case 'a' <= b && b <= 'z', 'A' <= b && b <= 'Z', '0' <= b && b <= '9':
		return true
	}
	return b == '_' || b == '-' || b == '.' || b == ':'
}

// UnseenMark ends the status of a user of whom no last seen is kept: see presence.Status.Unseen.
const UnseenMark = "-"
