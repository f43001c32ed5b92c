package redisstore

import (
	"strings"

	"github.com/rollcall-go/rollcall/presence"
)

// topicKeys are the names of a topic's keys, in the order of lua/topic.lua.
var topicKeys = [...]string{"leases", "users", "hidden", "current", "old", "guests", "before", "aged", "seen", "log", "head", "count", "listed", "lately", "names", "signed", "peak", "bots"}

// A keyspace makes the names of the keys and channels with one prefix.
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

// tag returns the hash tag of a topic's keys, which is mostly the topic's name. The store uses the tags of
// presence:{index}:… and presence:{notices}:… itself. So topics with these names get tags that cannot be
// names of topics.
func tag(topic presence.Topic) string {
	if topic == "index" || topic == "notices" {
		return "=" + string(topic)
	}
	return string(topic)
}

// topicOf returns the topic of a key.
func (k keyspace) topicOf(key string) presence.Topic {
	tag, _, _ := strings.Cut(key[len(k.prefix)+len(":{"):], "}")
	return presence.Topic(strings.TrimPrefix(tag, "="))
}

// indexKey returns the name of a list that the whole fleet shares. All of these are in one slot.
func (k keyspace) indexKey(name string) string { return k.prefix + ":{index}:" + name }

func (k keyspace) indexKeys(names ...string) []string {
	keys := make([]string, len(names))
	for i, name := range names {
		keys[i] = k.indexKey(name)
	}
	return keys
}

func (k keyspace) metaKey() string { return k.prefix + ":{~meta}:fleet" }

func (k keyspace) consumerKey(consumer string) string {
	return k.prefix + ":{=consumer:" + consumer + "}:record"
}

// consumersKey is the key of the set of consumers that have or had a record.
func (k keyspace) consumersKey() string { return k.prefix + ":{~consumers}:names" }

// erasureKeys are the keys of the promised erasures. No topic has their tag.
func (k keyspace) erasureKeys() []string {
	tag := k.prefix + ":{~erasures}:"
	return []string{tag + "asked", tag + "due"}
}

// notices is the prefix of the keys and the channel of notices. They are all in one slot.
func (k keyspace) notices() string { return k.prefix + ":{notices}" }

// noticeLog are the keys of the log of notices, and of the log's random name, which is lost if the store is
// wiped.
func (k keyspace) noticeLog() []string { return []string{k.notices() + ":log", k.notices() + ":epoch"} }

// live is the name of the notices' channel without the keyspace's id.
func (k keyspace) live() string { return k.notices() + ":live" }

// statusKeys are the keys of the chosen statuses by user, and of their revisions.
func (k keyspace) statusKeys() []string {
	return []string{k.notices() + ":statuses", k.notices() + ":chosen"}
}

// channel is the name of a topic's channel without the keyspace's id.
func (k keyspace) channel(topic presence.Topic) string { return k.key(topic, "diffs") }
