package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// A site is what the doctor knows of the examined one. What several checks need is asked
// once, when the first of them asks.
type site struct {
	options
	net    *network
	me     *visitor // the visitor with the cookies of the command line
	first  *page    // its view of the page
	prefix *url.URL // of the endpoints
	live   *stream

	roster func() answer
	poll   func() *poll   // a poll that is answered at once
	silent func() silence // a poll for which there is nothing to say
	views  func() *views
	ending context.CancelFunc
	held   sync.WaitGroup // what runs beside the checks
}

// defaultPrefix is where presence is unless the site says otherwise.
const defaultPrefix = "/presence"

// visit views the page and finds the endpoints. The error says why the site cannot be examined.
func visit(ctx context.Context, o options) (s *site, err error) {
	s = &site{options: o, net: newNetwork(o.insecure)}
	defer func(n *network) {
		if err != nil {
			n.close()
		}
	}(s.net)
	s.me = s.net.visitor(o.page, o.cookies)
	if s.first, err = s.me.view(ctx); err != nil {
		return nil, err
	}
	if s.prefix, err = s.findPrefix(ctx); err != nil {
		return nil, err
	}
	ctx, s.ending = context.WithCancel(ctx)
	s.live = newStream()
	s.held.Go(func() { s.live.hold(ctx, s) })
	s.roster = sync.OnceValue(func() answer {
		return s.me.do(ctx, wish{url: s.at("roster", "limit", "1", "topic", s.first.topics[0])})
	})
	s.poll = sync.OnceValue(func() *poll { return s.ask(ctx, s.me, "", time.Second) })
	s.silent = sync.OnceValue(func() silence { return s.listen(ctx) })
	s.views = sync.OnceValue(func() *views { return s.look(ctx) })
	return s, nil
}

// close ends what runs, and closes the connections.
func (s *site) close() {
	s.ending()
	s.held.Wait()
	s.net.close()
}

// view views the page as a browser does whose person has typed the address.
func (v *visitor) view(ctx context.Context) (*page, error) {
	a := v.do(ctx, wish{url: v.page, page: true, header: map[string]string{
		"Accept":         "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8",
		"Sec-Fetch-Dest": "document", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Site": "none",
	}})
	const signIn = "a page for signed-in users needs -cookie name=value"
	switch {
	case errors.Is(a.err, errElsewhere):
		return nil, fmt.Errorf("%w: give the address of a page there; %s", a.err, signIn)
	case a.err != nil:
		return nil, fmt.Errorf("%s cannot be examined: %w", v.page.Redacted(), a.err)
	case a.status == http.StatusUnauthorized || a.status == http.StatusForbidden:
		return nil, fmt.Errorf("the page is answered with status %d; %s", a.status, signIn)
	case a.status != http.StatusOK:
		return nil, fmt.Errorf("the page is answered with status %d, so there is nothing to examine", a.status)
	}
	p := read(a)
	if !p.shows && a.url.Path != v.page.Path {
		return nil, fmt.Errorf("the site redirects to %s, which shows no presence; %s", short(a.url.Redacted()), signIn)
	}
	return p, nil
}

// findPrefix returns where the endpoints are: where the command line or the page says, or by
// default. The error says that there is no presence.
func (s *site) findPrefix(ctx context.Context) (*url.URL, error) {
	where := s.options.prefix
	if where == "" {
		where = s.first.src
	}
	if where == "" && !s.first.shows {
		asked := s.me.do(ctx, wish{url: s.first.url.ResolveReference(&url.URL{Path: defaultPrefix + "/roster"})})
		if asked.status != http.StatusOK && asked.detail() == "" {
			why := ""
			if s.first.truncated {
				why = fmt.Sprintf(" in its first %d MiB", maxPage>>20)
			}
			return nil, fmt.Errorf("the page shows no presence%s, and there is none under %s: "+
				"give the address of a page that shows who is online, or the path of the endpoints with -prefix", why, defaultPrefix)
		}
	}
	if where == "" {
		where = defaultPrefix
	}
	to, err := s.first.url.Parse(where)
	if err != nil {
		return nil, fmt.Errorf("%.100q is no path of presence endpoints", where)
	}
	if to.Scheme != s.first.url.Scheme || to.Host != s.first.url.Host {
		return nil, fmt.Errorf("the page looks for presence at %s, another origin, which the doctor does not examine", short(to.Redacted()))
	}
	to.Path = strings.TrimSuffix(to.Path, "/")
	to.RawQuery, to.Fragment = "", ""
	return to, nil
}

// at returns the address of an endpoint. The parameters are names and values.
func (s *site) at(endpoint string, params ...string) *url.URL {
	to := s.prefix.JoinPath(endpoint)
	query := make([]string, 0, len(params)/2)
	for i := 0; i+1 < len(params); i += 2 {
		query = append(query, params[i]+"="+url.QueryEscape(params[i+1]))
	}
	to.RawQuery = strings.Join(query, "&")
	return to
}

// follow returns the parameters of a request for the events of the page's topics.
func (s *site) follow(more ...string) []string {
	params := append([]string{"partial", "1", "limit", "1"}, more...)
	for _, topic := range s.first.topics {
		params = append(params, "topic", topic)
	}
	return params
}

// reached reports whether the endpoints answer.
func (s *site) reached() bool {
	a := s.roster()
	return a.err == nil && (a.status == http.StatusOK || a.detail() != "" && a.status != http.StatusNotFound)
}
