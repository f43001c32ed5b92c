package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/rollcall-go/rollcall/bench/internal/child"
	"github.com/rollcall-go/rollcall/bench/internal/hist"
	"github.com/rollcall-go/rollcall/bench/internal/site"
)

const millionUsers = 1_000_000

func proveMillion(*config) (about string, facts []fact, err error) {
	about = "A million users come to one topic of the in-memory store, as from other nodes. Then this node loads the topic, and a client pages through its roster, 1,000 users a page."
	server, addr, err := startSite(site.Begin{Topics: 1})
	if err != nil {
		return about, nil, err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	empty, err := siteUsage(server, true)
	if err != nil {
		return about, nil, err
	}
	filled, err := child.Call[time.Duration](server, "Site.Fill", millionUsers)
	if err != nil {
		return about, nil, err
	}
	stored, err := siteUsage(server, true)
	if err != nil {
		return about, nil, err
	}
	begin := time.Now()
	if _, err = child.Call[int](server, "Site.Look", struct{}{}); err != nil {
		return about, nil, err
	}
	loading := time.Since(begin)
	loaded, err := siteUsage(server, true)
	if err != nil {
		return about, nil, err
	}
	pages, users, err := pageThrough(addr, 1000, millionUsers)
	if err != nil {
		return about, nil, err
	}
	usual, _, err := pageThrough(addr, 100, 100_000)
	if err != nil {
		return about, nil, err
	}
	changes, err := child.Call[hist.Hist](server, "Site.Trickle", 2000)
	if err != nil {
		return about, nil, err
	}
	after, err := siteUsage(server, true)
	if err != nil {
		return about, nil, err
	}
	mb := func(n int) string { return fmt.Sprintf("%.0f MB", float64(n)/(1<<20)) }
	return about, []fact{
		{"memory of the node's own roster", mb(loaded.Heap + loaded.Stacks - stored.Heap - stored.Stacks), "≤ 350 MB"},
		{"memory of the in-memory store", mb(stored.Heap + stored.Stacks - empty.Heap - empty.Stacks), ""},
		{"filling the store, loading the topic", fmt.Sprintf("%.1f s, %.1f s", filled.Seconds(), loading.Seconds()), ""},
		{"users seen by paging to the end", fmt.Sprint(users), fmt.Sprint(millionUsers)},
		{"a page of 100: p50, p99, longest", quantiles(usual), "≤ 5 ms"},
		{"a page of 1,000: p50, p99, longest", quantiles(pages), "≤ 5 ms"},
		{"one change, one at a time: p50, p99, longest", quantiles(&changes), "not O(users)"},
		{"memory after 2,000 changes, beside the store", mb(after.Heap + after.Stacks - stored.Heap - stored.Stacks), "≤ 350 MB"},
	}, nil
}

// quantiles shows durations in ms.
func quantiles(h *hist.Hist) string {
	return fmt.Sprintf("%.2g, %.2g, %.2g ms", ms(h.Quantile(0.5)), ms(h.Quantile(0.99)), ms(h.Max()))
}

// pageThrough reads the roster until it ends or so many users were seen, and returns how long the pages took and how
// many different users there were.
func pageThrough(addr string, limit, most int) (took *hist.Hist, users int, err error) {
	took = new(hist.Hist)
	seen := make(map[string]struct{}, most)
	for after := ""; ; {
		begin := time.Now()
		resp, err := http.Get(fmt.Sprintf("http://%s/presence/roster?topic=thread:0&limit=%d&after=%s", addr, limit, url.QueryEscape(after)))
		if err != nil {
			return nil, 0, err
		}
		var page struct {
			Order []string `json:"order"`
			Next  string   `json:"next"`
		}
		var body json.RawMessage
		err = json.NewDecoder(resp.Body).Decode(&body)
		took.Add(time.Since(begin))
		resp.Body.Close()
		if err = errors.Join(err, json.Unmarshal(body, &page)); err != nil {
			return nil, 0, err
		}
		for _, id := range page.Order {
			seen[id] = struct{}{}
		}
		if after = page.Next; after == "" || len(seen) >= most {
			return took, len(seen), nil
		}
	}
}
