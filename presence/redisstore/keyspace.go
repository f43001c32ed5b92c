package redisstore

import "github.com/rollcall-go/rollcall/presence"

// topicKeys are the names of a topic's keys, in the order of lua/topic.lua.
var topicKeys = [...]string{"leases", "users", "hidden", "current", "old", "guests", "before", "aged", "seen", "log", "head", "count", "listed", "lately", "names"}

// moreKeys are those that lua/apply.lua needs besides, where a topic keeps more.
var moreKeys = [...]string{"peak", "bots"}

// A keyspace names the keys and channels that begin with one prefix.
type keyspace struct{ prefix string }

func (k keyspace) key(topic presence.Topic, name string) string {
	return k.prefix + ":{" + tag(topic) + "}:" + name
}

func (k keyspace) keys(topic presence.Topic, names ...string) []string {
	keys := make([]string, len(names))
	for i, name := range names {
		keys[i] = k.key(topic, name)
	}
	return keys
}

// tag returns the hash tag of a topic's keys: mostly its name. The store itself uses the
// tags of presence:{index}:… and presence:{notices}:…, so topics of these names get tags that
// no topic can have as its name.
func tag(topic presence.Topic) string {
	if topic == "index" || topic == "notices" {
		return "=" + string(topic)
	}
	return string(topic)
}

// indexKey names a list that the whole fleet shares: all of these are in one slot.
func (k keyspace) indexKey(name string) string { return k.prefix + ":{index}:" + name }

func (k keyspace) nodeKeys(names ...string) []string {
	for i, name := range names {
		names[i] = k.indexKey(name)
	}
	return names
}

func (k keyspace) metaKey() string { return k.prefix + ":{~meta}:fleet" }

func (k keyspace) consumerKeys(consumer string) []string {
	tag := k.prefix + ":{=consumer:" + consumer + "}:"
	return []string{tag + "record", tag + "steps"}
}

// consumersKey names the consumers that have, or had, a record.
func (k keyspace) consumersKey() string { return k.prefix + ":{~consumers}:names" }

// erasureKeys are the erasures that were promised. No topic has their tag.
func (k keyspace) erasureKeys() []string {
	tag := k.prefix + ":{~erasures}:"
	return []string{tag + "asked", tag + "due"}
}

// notices begins the names of what notices need: all of it is in one slot.
func (k keyspace) notices() string { return k.prefix + ":{notices}" }

// noticeLog are the keys of the log: its notices, and a random name of it, which a wiped
// store has lost.
func (k keyspace) noticeLog() []string { return []string{k.notices() + ":log", k.notices() + ":epoch"} }

// live is the name of the notices' channel without the keyspace's id.
func (k keyspace) live() string { return k.notices() + ":live" }

// statusKeys are the chosen statuses by user, and when they were chosen.
func (k keyspace) statusKeys() []string {
	return []string{k.notices() + ":statuses", k.notices() + ":chosen"}
}

// channel is the name of a topic's channel without the keyspace's id.
func (k keyspace) channel(topic presence.Topic) string { return k.key(topic, "diffs") }
