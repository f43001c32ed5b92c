package memstore

import "github.com/rollcall-go/rollcall/presence/backend"

// A botSet is the crawlers who came in this period, and in the one before (rule 18).
type botSet struct {
	listed map[string]bot // by the crawler's id
}

type bot struct {
	name string
	now  bool // it came in this period
}

// add counts a crawler. It ignores a bad name.
func (b *botSet) add(id, name string) {
	if !backend.ValidBotName(name) {
		return
	}
	if _, known := b.listed[id]; !known && len(b.listed) >= backend.MaxBots {
		id = backend.SharedBot(id)
	}
	if b.listed == nil {
		b.listed = make(map[string]bot)
	}
	b.listed[id] = bot{name, true}
}

// turn makes the current period the previous one.
func (b *botSet) turn() {
	for id, bot := range b.listed {
		if bot.now {
			bot.now = false
			b.listed[id] = bot
		} else {
			delete(b.listed, id)
		}
	}
}

func (b *botSet) empty() bool { return len(b.listed) == 0 }

// byName returns how many crawlers have each name, nil if there are none.
func (b *botSet) byName() map[string]int {
	if b.empty() {
		return nil
	}
	byName := make(map[string]int)
	for _, bot := range b.listed {
		byName[bot.name]++
	}
	return byName
}
