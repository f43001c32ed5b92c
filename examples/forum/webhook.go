package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"

	"github.com/rollcall-go/rollcall/handlers/webhook"
	"github.com/rollcall-go/rollcall/presence"
)

// webhookConfig is where joins and leaves are posted; no URL: nowhere.
type webhookConfig struct{ url, secret string }

func (c *webhookConfig) flags(set *flag.FlagSet, getenv func(string) string) {
	set.StringVar(&c.url, "webhook", getenv("WEBHOOK_URL"),
		"`URL` to which joins and leaves are posted; empty: none are (environment: WEBHOOK_URL)")
	set.StringVar(&c.secret, "webhook-secret", getenv("WEBHOOK_SECRET"),
		"`key` that signs them, whsec_ and then 24 to 64 bytes in base64, the same on every node: give it to the receiver, which "+
			"verifies by it; empty: one of the fleet's own, by which no receiver can verify (environment: WEBHOOK_SECRET)")
}

// sender returns what posts, nil where nothing is to be posted. Its errors hold neither the
// URL, which may have a password, nor the secret.
func (c webhookConfig) sender(log *slog.Logger) (*webhook.Sender, error) {
	url := c.url
	if url == "" {
		url = "http://localhost" // for the check of the secret
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

// postWebhooks posts joins and leaves of the whole site and of each thread, until the
// tracker closes.
func (s *site) postWebhooks(c webhookConfig) error {
	sender, err := c.sender(s.log)
	if err != nil || sender == nil {
		return err
	}
	topics := []presence.Topic{presence.Site}
	for _, t := range s.threads {
		topics = append(topics, t.Topic())
	}
	go func() {
		if err := sender.Run(context.Background(), s.tracker, "webhook", topics...); !errors.Is(err, presence.ErrClosed) {
			s.log.Error("webhooks are not posted", "error", err)
		}
	}()
	return nil
}
