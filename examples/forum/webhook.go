package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"

	"github.com/rollcall-go/rollcall/handlers/webhook"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/deliver"
	"github.com/rollcall-go/rollcall/presence/track"
)

// webhookConfig says where joins and leaves are posted. Without a URL they are not posted.
type webhookConfig struct{ url, secret string }

func (c *webhookConfig) flags(set *flag.FlagSet, getenv func(string) string) {
	set.StringVar(&c.url, "webhook", getenv("WEBHOOK_URL"),
		"`URL` to which joins and leaves are posted; empty: none are (environment: WEBHOOK_URL)")
	set.StringVar(&c.secret, "webhook-secret", getenv("WEBHOOK_SECRET"),
		"`key` that signs them, whsec_ and then 24 to 64 bytes in base64, the same on every node: give it to the receiver, which "+
			"verifies by it; empty: one of the fleet's own, by which no receiver can verify (environment: WEBHOOK_SECRET)")
}

// sender returns the sender of posts, or nil if there is no URL. Its errors contain neither the URL, which may
// have a password, nor the secret.
func (c webhookConfig) sender(log *slog.Logger) (*webhook.Sender, error) {
	url := c.url
	if url == "" {
		url = "http://localhost" // any URL will do to check the secret
	}
	sender, err := webhook.New(webhook.Config{URL: url, Secret: c.secret, Logger: log})
	switch {
	case errors.Is(err, webhook.ErrInvalidURL):
		return nil, fmt.Errorf("invalid value for flag -webhook (or WEBHOOK_URL): %w", err)
	case err != nil:
		return nil, fmt.Errorf("invalid value for flag -webhook-secret (or WEBHOOK_SECRET): %w", err)
	case c.url == "":
		return nil, nil
	}
	return sender, nil
}

// webhooks posts joins and leaves of the whole site and of all threads. One consumer serves all tenants,
// because its name is a label of the metrics, which must not name a tenant. A consumer costs the store two
// round trips a second.
type webhooks struct {
	sender  *webhook.Sender // nil: nothing is posted
	tracker *track.Tracker
	topics  []presence.Topic
	log     *slog.Logger
}

func newWebhooks(c webhookConfig, tracker *track.Tracker, log *slog.Logger) (*webhooks, error) {
	sender, err := c.sender(log)
	return &webhooks{sender: sender, tracker: tracker, topics: []presence.Topic{presence.Site, deliver.AllOf("thread")}, log: log}, err
}

// post posts the joins and leaves of the tenants, or of a forum without tenants, until the tracker closes.
func (w *webhooks) post(tenants []string) {
	if w.sender == nil {
		return
	}
	topics := w.topics
	if len(tenants) > 0 {
		topics = nil
	}
	for _, tenant := range tenants {
		for _, topic := range w.topics {
			topics = append(topics, topic.In(tenant))
		}
	}
	go func() {
		if err := w.sender.Run(context.Background(), w.tracker, "webhook", topics...); !errors.Is(err, presence.ErrClosed) {
			w.log.Error("webhooks are not posted", "error", err)
		}
	}()
}
