package redisstore

import (
	"strconv"
	"strings"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/backend"
)

// readPolled reads the third and the fourth part of an answer of lua/poll.lua. single says that all keys are on one server.
func readPolled(parts []any, p backend.Poll, single bool) (polled backend.Polled, err error) {
	r, err := textsOf(parts, 2, 4)
	if err != nil {
		return polled, err
	}
	nodes, _ := strconv.Atoi(r[2])
	polled = backend.Polled{Alive: r[0] == "1", Next: millisOf(r[1]), Nodes: nodes, Erasures: r[3] == "1", Changes: backend.Changes{All: true}}
	told, err := textsOf(parts, 3, 2)
	if err != nil || told[0] == "" || !single { // somebody notes nothing
		return polled, err
	}
	now, err := strconv.ParseInt(told[1], 10, 64)
	if err != nil {
		return polled, errAnswer
	}
	era, since := cutMark(p.Mark)
	c := backend.Changes{Mark: told[1] + " " + told[0], All: told[0] != era || since > now || now-since > maxChanges}
	for _, name := range told[2:] {
		if !c.All && name != "=" {
			c.Topics = append(c.Topics, presence.Topic(name))
		}
	}
	polled.Changes = c
	return polled, nil
}

// cutMark returns the parts of a mark: an era, and the number of the latest change.
func cutMark(mark string) (era string, number int64) {
	first, era, _ := strings.Cut(mark, " ")
	number, _ = strconv.ParseInt(first, 10, 64)
	return era, number
}

// textsOf returns a part of an answer that is a list of at least some texts.
func textsOf(parts []any, part, least int) ([]string, error) {
	if len(parts) <= part {
		return nil, errAnswer
	}
	list, _ := parts[part].([]any)
	texts := make([]string, len(list))
	for i, one := range list {
		texts[i], _ = one.(string)
	}
	if len(texts) < least {
		return nil, errAnswer
	}
	return texts, nil
}
