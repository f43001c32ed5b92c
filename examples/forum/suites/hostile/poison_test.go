package hostile_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rollcall-go/rollcall/examples/forum/internal/forumtest"
)

// A poison is what a neighbour with access to the same Redis does, and undo what an
// operator does about it, nil where nothing is needed.
type poison struct {
	name string
	do   func(h *hostile, ctx context.Context) (undo func())
}

// poisons of the site's Redis, of which each must pass by itself.
func (h *hostile) poisons(all bool) []poison {
	list := []poison{
		{"garbage in every channel", (*hostile).publishGarbage},
		{"forged diffs", (*hostile).publishForged},
		{"garbage in the log of notices", (*hostile).noticeGarbage},
		{"wrong types on another topic", (*hostile).wrongTypes},
	}
	keys := h.keys("{site}")
	for _, key := range keys {
		short := strings.HasSuffix(key, ":users") || strings.HasSuffix(key, ":leases") || strings.HasSuffix(key, ":log")
		if all || short {
			list = append(list, poison{"DEL " + key, func(h *hostile, ctx context.Context) func() { h.db.Del(ctx, key); return nil }})
		}
	}
	return append(list, poison{"DEL all of them", func(h *hostile, ctx context.Context) func() { h.db.Del(ctx, keys...); return nil }})
}

// poison poisons the store in every way. After each, the readers, the forum, and a
// node that starts then must know within two heartbeats who is online, also with
// one join and one leave in between.
func (h *hostile) poison(strict bool) {
	most := forumtest.Patience / 2
	if strict {
		most = 2*hostileTTL/3 + hostileSweep + forumtest.FindTime
	}
	ctx := h.t.Context()
	// Another topic has a reader too, so it has keys.
	reader := forumtest.BareClient{Addr: h.node.Addr, From: h.visitor.From, Wait: forumtest.Patience}
	stream, status, err := reader.Stream("topic=thread:2", forumtest.UserCookie("reader-0"), true)
	if err != nil {
		h.t.Fatalf("a stream of thread:2: got %d and error %v", status, err)
	}
	defer stream.Conn.Close()
	go func() {
		for _, _, err := stream.Next(); err == nil; _, _, err = stream.Next() {
		}
	}()
	time.Sleep(hostileSweep)
	for _, p := range h.poisons(strict) {
		undo := p.do(h, ctx)
		h.writer.step()
		began := time.Now()
		// What is wrong shows at the next heartbeat, not at once.
		time.Sleep(hostileTTL / 3)
		_, wrong := h.converged(h.node, most-time.Since(began))
		if undo != nil {
			undo()
		}
		if wrong == "" {
			fresh := h.startNode("fresh")
			_, wrong = h.converged(fresh, max(most-time.Since(began), 2*time.Second))
			fresh.Kill()
		}
		if took := time.Since(began).Round(time.Millisecond); wrong == "" {
			h.t.Logf("  %s: well after %v", p.name, took)
		} else {
			h.t.Errorf("%s: %v later %s", p.name, took, wrong)
		}
		for _, fault := range calmFaults(h.readers) {
			h.t.Errorf("%s: %s", p.name, fault)
		}
		for _, refused := range h.writer.refusals() {
			h.t.Errorf("%s: %s", p.name, refused)
		}
		h.memory() // the process lives
	}
}

// keys are those whose name holds a text.
func (h *hostile) keys(holds string) []string {
	all := h.db.Keys(h.t.Context(), "*").Val()
	all = slices.DeleteFunc(all, func(key string) bool { return !strings.Contains(key, holds) })
	slices.Sort(all)
	return all
}

// hostileTexts are what no honest node writes.
var hostileTexts = []string{
	"", " ", "garbage", "\x00\xff\n\n", `{"`, "1-1 0 0 0", "1-1 \n\n\n", "9999999999999-0 0 1 0\n+<script>alert(1)</script>\x1f1 online {}",
	"1-1\nevent:x 1-0 1 0\n+\"'\n\x1f1 online {}", "99999999999999999999999 -1 -1 -1", strings.Repeat("x", 1<<20), "1 2 3 " + strings.Repeat("\n", 1<<16),
}

func (h *hostile) publishGarbage(ctx context.Context) func() {
	for _, channel := range h.db.PubSubChannels(ctx, "*").Val() {
		for _, text := range hostileTexts {
			h.db.Publish(ctx, channel, text)
		}
	}
	return nil
}

// publishForged takes an honest message, and publishes it again with other users'
// ids in it, other versions, or only a part.
func (h *hostile) publishForged(ctx context.Context) func() {
	for _, channel := range h.db.PubSubChannels(ctx, "*").Val() {
		if !strings.Contains(channel, "{site}") {
			continue
		}
		subscription := h.db.Subscribe(ctx, channel)
		if _, err := subscription.Receive(ctx); err != nil {
			h.t.Fatal(err)
		}
		h.writer.step()
		name := writerName(h.writer.number() - 1)
		receiving, cancel := context.WithTimeout(ctx, forumtest.Patience)
		var honest string
		for !strings.Contains(honest, name) {
			message, err := subscription.ReceiveMessage(receiving)
			if err != nil {
				h.t.Errorf("no message in %s names %s: %v", channel, name, err)
				break
			}
			honest = message.Payload
		}
		cancel()
		subscription.Close()
		id, rest, _ := strings.Cut(honest, " ")
		h.db.Publish(ctx, channel, honest) // twice
		for _, other := range []string{`"'><script>alert(1)</script>`, "a\\n\\ndata: {}", "__proto__", "\u2028", "", strings.Repeat("y", 1<<12)} {
			forged := strings.ReplaceAll(rest, name, other)
			h.db.Publish(ctx, channel, id+" "+forged)
			h.db.Publish(ctx, channel, "9"+id+" "+forged)
			h.db.Publish(ctx, channel, other+" "+rest)
			// A diff that seems to be the next one.
			if _, lines, ok := strings.Cut(forged, " "); ok {
				h.db.Publish(ctx, channel, fmt.Sprint(id, "9 ", id, " ", lines))
			}
		}
		h.db.Publish(ctx, channel, honest[:len(honest)/2])
	}
	return nil
}

// noticeGarbage writes what is no notice into each log that is no topic's.
func (h *hostile) noticeGarbage(ctx context.Context) func() {
	logs := 0
	for _, key := range h.keys("{") {
		if strings.Contains(key, "{site}") || strings.Contains(key, "{thread:") || h.db.Type(ctx, key).Val() != "stream" {
			continue
		}
		logs++
		for _, text := range hostileTexts {
			for _, field := range []string{"n", "notice", "", text} {
				h.db.XAdd(ctx, &redis.XAddArgs{Stream: key, Values: []any{field, text}})
			}
		}
		h.db.XAdd(ctx, &redis.XAddArgs{Stream: key, Values: []any{"a", "b", "c", "d"}})
	}
	if logs == 0 {
		h.t.Error("there is no log of notices, want one: users have signed out")
	}
	return nil
}

// wrongTypes makes every key of another topic a string. An operator deletes them.
func (h *hostile) wrongTypes(ctx context.Context) func() {
	keys := h.keys("{thread:2}")
	if len(keys) == 0 {
		h.t.Error("thread:2 has no keys, want some: it has a reader")
	}
	for _, key := range keys {
		h.db.Set(ctx, key, "x", 0)
	}
	return func() { h.db.Del(ctx, keys...) }
}
