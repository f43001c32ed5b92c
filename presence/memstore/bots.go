package memstore

import "github.com/rollcall-go/rollcall/presence/backend"

// A botSet has the crawlers who came in this period, and in the one before, by their ids (rule 8).
type botSet map[string]bot

type bot struct {
	name string
	now  bool // it came in this period
}

// add counts a crawler. It ignores a bad name.
func (b *botSet) add(id, name string) {
	if !backend.ValidBotName(name) {
		return
	}
	if _, known := (*b)[id]; !known && len(*b) >= backend.MaxBots {
		id = backend.SharedBot(id)
	}
	if *b == nil {
		*b = make(botSet)
	}
	(*b)[id] = bot{name, true}
}

// turn makes the current period the previous one.
func (b botSet) turn() {
	for id, bot := range b {
		if bot.now {
			bot.now = false
			b[id] = bot
		} else {
			delete(b, id)
		}
	}
}

// byName returns how many crawlers have each name, nil if there are none.
func (b botSet) byName() map[string]int {
	if len(b) == 0 {
		return nil
	}
	byName := make(map[string]int)
	for _, bot := range b {
		byName[bot.name]++
	}
	return byName
}
