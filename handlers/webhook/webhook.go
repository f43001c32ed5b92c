package webhook

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/rollcall-go/rollcall/internal/minute"
	"github.com/rollcall-go/rollcall/internal/problem"
	"github.com/rollcall-go/rollcall/presence"
	"github.com/rollcall-go/rollcall/presence/deliver"
	"github.com/rollcall-go/rollcall/presence/track"
)

// Errors of [New].
var (
	// ErrInvalidURL: Config.URL is no URL to which a webhook can be posted. The text says why.
	ErrInvalidURL = errors.New("must be a URL such as https://example.org/hook")
	// ErrInvalidSecret: Config.Secret is not usable as a key. The text does not hold the secret.
	ErrInvalidSecret = errors.New("must be whsec_ and then at least 16 bytes in base64")
)

// Config is how a [Sender] posts. URL is required.
type Config struct {
	URL string // of the receiver: http or https

	// Secret signs each post: "whsec_" and then random bytes in base64, the same on every node. Standard
	// Webhooks asks for 24 to 64 bytes; [New] refuses fewer than 16. Default: a key that [Sender.Run] derives
	// from the fleet's secret. A receiver cannot know that key, and so cannot verify the posts.
	Secret string

	Timeout time.Duration // of one post. Default: 10 s
	Lanes   int           // posts at a time, each of a different user or topic. Default: 8

	// Transport sends the posts. Default: http.DefaultTransport.
	Transport http.RoundTripper

	// Logger gets a line at most once a minute while the receiver fails. Default:
	// slog.Default().
	Logger *slog.Logger
}

// A Sender posts to one receiver. [New] makes one. All methods may be called concurrently.
type Sender struct {
	cfg    Config
	client *http.Client
	key    key // nil: derived from the fleet's secret
	logs   minute.Gate
}

// New returns a Sender, or an error that is [ErrInvalidURL] or [ErrInvalidSecret]. It posts
// nothing.
func New(cfg Config) (*Sender, error) {
	cfg.Timeout = cmp.Or(cfg.Timeout, 10*time.Second)
	cfg.Lanes = cmp.Or(cfg.Lanes, 8)
	cfg.Logger = cmp.Or(cfg.Logger, slog.Default())
	receiver, err := url.Parse(cfg.URL)
	if err != nil || receiver.Scheme != "http" && receiver.Scheme != "https" || receiver.Hostname() == "" || !validPort(receiver.Port()) {
		return nil, ErrInvalidURL
	}
	s := &Sender{cfg: cfg, client: &http.Client{
		Transport: cfg.Transport,
		Timeout:   cfg.Timeout,
		// A redirect counts as a failure: only the operator names the receiver.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	if cfg.Secret == "" {
		return s, nil
	}
	if s.key, err = parseSecret(cfg.Secret); err != nil {
		return nil, err
	}
	return s, nil
}

// validPort reports whether a port of a URL can be connected to; empty: the scheme's own.
func validPort(port string) bool {
	n, err := strconv.ParseUint(port, 10, 16)
	return port == "" || err == nil && n > 0
}

// Run posts the joins and leaves of topics, as [track.Tracker.Deliver] does: call it on
// every node, with the same consumer and topics. It returns when ctx ends or the tracker
// closes.
func (s *Sender) Run(ctx context.Context, tracker *track.Tracker, consumer string, topics ...presence.Topic) error {
	return tracker.Deliver(ctx, consumer, topics, deliver.Options{Lanes: s.cfg.Lanes},
		func(ctx context.Context, d deliver.Event) error {
			k := s.key
			if k == nil {
				var known bool
				if k, known = fleetKey(tracker); !known {
					return deliver.RetryIn(time.Second, errors.New("the fleet's secret is not known yet"))
				}
			}
			return s.deliver(ctx, d, k)
		})
}

// fleetKey derives a key from the fleet's secret. It returns false while the secret is unknown.
func fleetKey(tracker *track.Tracker) (key, bool) {
	first, known := tracker.Sign("webhook", "1")
	second, _ := tracker.Sign("webhook", "2")
	return append(first[:], second[:]...), known
}

// maxAge is how old an event may be. Older events are given up.
const maxAge = 24 * time.Hour

// errTooOld is why an event is given up.
var errTooOld = errors.New("it was not taken within a day")

// deliver posts an event, or returns an error that says when to try again.
func (s *Sender) deliver(ctx context.Context, d deliver.Event, k key) error {
	age := time.Since(d.At)
	if age >= maxAge {
		return deliver.GiveUp(errTooOld)
	}
	asked, err := s.post(ctx, d, k)
	if err == nil || ctx.Err() != nil { // where this node stops, that is no failure of the receiver
		return err
	}
	age = time.Since(d.At)
	wait := max(backoff(d.Try, age), asked)
	if s.logs.Pass() {
		s.cfg.Logger.Warn("webhook: the receiver failed; events are posted again", slog.String("id", d.ID), slog.Any("error", err))
	}
	return deliver.RetryIn(min(wait, max(maxAge-age, 0)), err)
}

// maxAnswer is how many bytes of an answer are read, so that the connection can be reused.
const maxAnswer = 64 << 10

// post posts an event once. Unless the answer is 2xx, it returns an error, and the wait for which the receiver
// asks.
func (s *Sender) post(ctx context.Context, d deliver.Event, k key) (asked time.Duration, err error) {
	body, err := encode(d)
	if err != nil {
		return 0, err
	}
	now := time.Now()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.cfg.URL, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "Rollcall")
	req.Header.Set("webhook-id", d.ID)
	req.Header.Set("webhook-timestamp", strconv.FormatInt(now.Unix(), 10))
	req.Header.Set("webhook-signature", k.sign(d.ID, now, body))
	res, err := s.client.Do(req)
	if err != nil {
		var failed *url.Error
		if errors.As(err, &failed) { // drop its text: that has the URL, which may hold a password
			err = failed.Err
		}
		return 0, err
	}
	defer res.Body.Close()
	_, _ = io.CopyN(io.Discard, res.Body, maxAnswer)
	if res.StatusCode >= 200 && res.StatusCode < 300 {
		return 0, nil
	}
	return problem.RetryAfter(res.Header), fmt.Errorf("the answer is %d", res.StatusCode)
}
