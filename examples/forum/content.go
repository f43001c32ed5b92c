package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/templates"
)

// rulesTopic is what the readers of the rules are present in.
const rulesTopic presence.Topic = "rules"

// groups are those that the legend names.
var groups = []templates.Group{
	{Name: "staff", Title: "Staff", Color: "#c0392b"},
	{Name: "moderator", Title: "Moderators", Color: "#2e8b57"},
	{Name: "founder", Title: "Founders", Color: "#8a63d2"},
}

// members are the users who belong to a group.
var members = map[presence.UserID]string{"carol": "moderator", "eun-ji": "moderator", "fred_the_elder": "founder"}

// A thread is one conversation.
type thread struct {
	ID    int
	Title string
	Board string
	Posts []post
}

// A post is what one author wrote.
type post struct {
	Author presence.User
	Time   time.Time
	Text   []string // paragraphs
}

// Topic is what the thread's readers are present in.
func (t thread) Topic() presence.Topic {
	return presence.Topic(fmt.Sprintf("thread:%d", t.ID))
}

// URL is the thread's page.
func (t thread) URL() string { return fmt.Sprintf("/threads/%d", t.ID) }

// First is the post that opened the thread.
func (t thread) First() post { return t.Posts[0] }

// Last is the latest post.
func (t thread) Last() post { return t.Posts[len(t.Posts)-1] }

// Replies is how many posts answer the first.
func (t thread) Replies() int { return len(t.Posts) - 1 }

// Stamp is the time for machines.
func (p post) Stamp() string { return p.Time.Format(time.RFC3339) }

// Moment is the time for people, Day the shorter form of it.
func (p post) Moment() string { return p.Time.Format("2 January 2006, 15:04") }
func (p post) Day() string    { return p.Time.Format("2 January") }

// by returns a post; blank lines part its paragraphs.
func by(name, at, text string) post {
	when, err := time.Parse("2006-01-02 15:04", at)
	author, ok := userNamed(name)
	if err != nil || !ok {
		panic(fmt.Sprint("a misprint below: ", name, ", ", at))
	}
	return post{Author: author, Time: when, Text: strings.Split(strings.TrimSpace(text), "\n\n")}
}

// threads returns all that was ever written in this forum.
func threads() []thread {
	return []thread{
		{ID: 1, Board: "In the beds", Title: "What are you still sowing this late?", Posts: []post{
			by("Alice", "2026-11-17 18:04", `
The frost took the last of the beans on Saturday, and I have half a bed standing empty and a tin of seed packets that say “best before” in a rather threatening way.

Broad beans are in, garlic is in. What else is worth a try before December, without a greenhouse?`),
			by("Bob", "2026-11-17 19:31", `
Field beans, if you think of the soil rather than the plate. They stand the winter, the bees get the flowers, and in April you chop the lot down and dig it in.

Round here I also get away with winter purslane under a bit of fleece. It does nothing at all until February and then it is suddenly lunch.`),
			by("Carol", "2026-11-18 07:12", `
Seconding the purslane. And onions from sets! I put mine in during the first week of November every year, always thinking I am too late, and I never am.`),
			by("Dmitri", "2026-11-18 21:45", `
If you are honest with yourself: nothing. Cover the bed with leaves, put the kettle on, read catalogues. The soil will thank you and so will your back.`),
			by("Alice", "2026-11-19 08:20", `
Dmitri, that is the best advice I had all week and I will follow none of it. Field beans it is, and a row of purslane. I shall report back when it is suddenly lunch.`),
		}},
		{ID: 2, Board: "Compost corner", Title: "Leaf mould: patience, or a shredder?", Posts: []post{
			by("Eun-ji", "2026-11-14 16:50", `
We have two oaks and, it turns out, several million oak leaves. My grandmother swore by wire cages and two years of doing nothing. My neighbour swears by running them over with the lawn mower.

Has anybody tried both, side by side?`),
			by("Dmitri", "2026-11-14 20:02", `
I have, five years running. Mown leaves: ready in a year, a bit coarse. Whole leaves: two years, but it comes out like chocolate cake.

Now I do both. The mown heap is for mulching, the patient one is for seed trays. Keep the heap wet, that matters more than the shredding.`),
			by("Alice", "2026-11-15 09:15", `
Wet is the word. My first cage had a lid to “keep it tidy”. Two years later I opened it and found two-year-old leaves.`),
		}},
		{ID: 3, Board: "Sheds and tools", Title: "Show us your shed (the honest version)", Posts: []post{
			by("Carol", "2026-11-10 12:00", `
Not the one from the magazine with the bunting. The real one. I will start: you cannot get to the fork without moving the mower, you cannot move the mower without moving the paint, and nobody knows what is in the paint.`),
			by("Fred_the_Elder", "2026-11-10 13:37", `
Mine has a chair in it. That is all I will say. There were going to be shelves, but then there was a chair.`),
			by("Bob", "2026-11-11 17:26", `
I have three left gloves. Every year I buy a pair, and every year the shed keeps the right one.`),
			by("Eun-ji", "2026-11-12 08:41", `
My shed is a bathroom cabinet on the balcony, two spans wide. It holds a trowel, twine, and everything I need. I feel I should be smug about it, but I would love a chair.`),
		}},
	}
}
