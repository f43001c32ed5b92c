package redisstore

import (
	"context"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
	"github.com/rollcall-go/rollcall/presence"
)

// One script can handle several topics if one server has the keys of all of them. A single server has. A
// cluster demands that all keys of a command are in one slot, and a topic's keys are in the slot of its tag.
// For any other client, each topic gets a script.

// slot returns a name for the set of keys that may be in one command with those of a topic.
func (l *link) slot(topic presence.Topic) string {
	switch l.client.(type) {
	case *redis.Client:
		if !l.apart.Load() {
			return ""
		}
	case *redis.ClusterClient:
	default:
		return string(topic)
	}
	return strconv.Itoa(slotOf(string(topic)))
}

// slotOf returns the slot in which a cluster keeps a tag: its CRC16 (XMODEM), modulo 16,384.
func slotOf(tag string) int {
	var crc uint16
	for _, b := range []byte(tag) {
		crc ^= uint16(b) << 8
		for range 8 {
			high := crc & 0x8000
			if crc <<= 1; high != 0 {
				crc ^= 0x1021
			}
		}
	}
	return int(crc % 16384)
}

// gather groups the indexes of topics by scripts that can handle them, each of at most most topics, in the
// order of their first topics.
func (l *link) gather(topics []presence.Topic, most int) (groups [][]int) {
	open := make(map[string]int) // slot -> the group that is not full
	for i, t := range topics {
		slot := l.slot(t)
		g, ok := open[slot]
		if !ok || len(groups[g]) == most {
			g = len(groups)
			open[slot], groups = g, append(groups, nil)
		}
		groups[g] = append(groups[g], i)
	}
	return groups
}

// runGathered runs scripts of several topics in one round trip. A server behind a client for a single one may
// still be a cluster, such as that of a hosting company behind a proxy. It answers CROSSSLOT once, and from
// then on each slot gets a script of its own: crossed is true, and the caller must make its scripts again.
func (l *link) runGathered(ctx context.Context, evals ...eval) (answers []*redis.Cmd, crossed bool, err error) {
	answers, err = l.run(ctx, evals...)
	for _, a := range answers {
		if a.Err() != nil && strings.HasPrefix(a.Err().Error(), "CROSSSLOT") {
			l.apart.Store(true)
			return answers, true, err
		}
	}
	return answers, false, err
}
