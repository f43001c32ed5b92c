package main

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/templates"
)

// rulesTopic is the topic of the rules page.
const rulesTopic presence.Topic = "rules"

// groups are the groups in the legend.
var groups = []templates.Group{
	{Name: "staff", Title: "Staff", Color: "#c0392b"},
	{Name: "moderator", Title: "Moderators", Color: "#2e8b57"},
	{Name: "founder", Title: "Founders", Color: "#8a63d2"},
}

// members are the users who belong to a group.
var members = map[presence.UserID]string{"carol": "moderator", "eun-ji": "moderator", "fred_the_elder": "founder"}

// A thread is one conversation.
type thread struct {
	ID      int
	Title   string
	Board   string
	Opener  presence.User // author of the first post
	Replies int           // number of posts after the first
	Last    post          // the latest post
	Posts   []post        // the posts that a page shows, the oldest first
	Earlier string        // URL of the page with earlier posts; empty: this page has the first post
}

// A post is what one author wrote. The first post of a thread has the number 0.
type post struct {
	N        int
	Author   presence.User
	Time     time.Time
	Raw      string // blank lines separate its paragraphs
	Revision int    // of the text: 1 is the author's first version
	Editor   string // name of the author of this revision; empty for the first
}

// firstRevision is the number of the author's first version.
const firstRevision = 1

// Topic is the topic that the thread's readers are present in.
func (t thread) Topic() presence.Topic {
	return presence.Topic(fmt.Sprintf("thread:%d", t.ID))
}

// Room is the feed of the thread's posts.
func (t thread) Room() string { return string(t.Topic()) }

// URL is the thread's page.
func (t thread) URL() string { return fmt.Sprintf("/threads/%d", t.ID) }

// with returns the thread with the posts that a page shows.
func (t thread) with(posts []post) thread {
	t.Posts, t.Earlier = posts, ""
	if first := posts[0].N; first > 0 {
		t.Earlier = fmt.Sprintf("%s?before=%d", t.URL(), first)
	}
	return t
}

// before returns the thread's posts before post n; all of them if n is 0.
func (t thread) before(n int) []post {
	if n == 0 || n > len(t.Posts) {
		return t.Posts
	}
	return t.Posts[:n]
}

// EditURL is the page on which a post of the thread is edited.
func (t thread) EditURL(n int) string { return fmt.Sprintf("%s/posts/%d/edit", t.URL(), n) }

// EditTopic returns the topic of a post's edit page. Whoever has that page open is in its roster.
func (t thread) EditTopic(n int) presence.Topic {
	return presence.Topic(fmt.Sprintf("edit:%d:%d", t.ID, n))
}

// until returns the thread with last as its latest post.
func (t thread) until(last post) thread {
	t.Last, t.Replies = last, last.N
	return t
}

// Anchor names the post on its page, and in the thread's feed.
func (p post) Anchor() string { return fmt.Sprintf("post-%d", p.N) }

// Edited reports whether the text was changed after the author wrote it.
func (p post) Edited() bool { return p.Revision > firstRevision }

// Type is the type of the post's item in the thread's feed. The style sheet uses it to show "edited".
func (p post) Type() string {
	if p.Edited() {
		return "edited"
	}
	return "post"
}

// of returns the post, read from the database, with the fields that follow from its row.
func (p post) of(at int64) post {
	p.Time = time.UnixMilli(at).UTC()
	p.Author.Group = members[p.Author.ID]
	return p
}

// Stamp is the time for machines.
func (p post) Stamp() string { return p.Time.Format(time.RFC3339) }

// Moment is the time for people, Day the shorter form of it.
func (p post) Moment() string { return p.Time.Format("2 January 2006, 15:04") }
func (p post) Day() string    { return p.Time.Format("2 January") }

// Text is the text in paragraphs of lines.
func (p post) Text() (paragraphs [][]string) {
	for _, paragraph := range blankLines.Split(p.Raw, -1) {
		paragraphs = append(paragraphs, strings.Split(paragraph, "\n"))
	}
	return paragraphs
}

var blankLines = regexp.MustCompile(`\n[ \t]*\n\s*`)

// by returns a post.
func by(name, at, text string) post {
	when, err := time.Parse("2006-01-02 15:04", at)
	author, ok := userNamed(name)
	if err != nil || !ok {
		panic(fmt.Sprint("a misprint below: ", name, ", ", at))
	}
	return post{Author: author, Time: when, Raw: strings.TrimSpace(text)}
}

// threads returns the threads, with the posts that a forum begins with.
func threads() []thread {
	all := written()
	for i, t := range all {
		for n := range t.Posts {
			t.Posts[n].N, t.Posts[n].Revision = n, firstRevision
		}
		all[i] = t.until(t.Posts[len(t.Posts)-1])
		all[i].Opener = t.Posts[0].Author
	}
	return all
}

func written() []thread {
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
