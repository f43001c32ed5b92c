package main

import "time"

var hocuspocusPackages = []string{"@hocuspocus/server", "@hocuspocus/extension-redis", "@hocuspocus/provider", "ioredis", "yjs", "y-protocols"}

var (
	hocuspocus = scriptPeer{
		name:    "Hocuspocus",
		says:    "server and extension-redis 4.7.0, provider 4.8.0; awareness, which ends after 30 s",
		slowest: 35 * time.Second,
		server:  "hocuspocus.mjs", page: "page-hocuspocus.mjs", packages: hocuspocusPackages,
	}.peer()
	hocuspocusFixed = scriptPeer{
		name:    "Hocuspocus, with fixes",
		says:    "its nodes tell each other who has left; the page shows a leave 10 s later",
		slowest: 45 * time.Second,
		server:  "hocuspocus.mjs", page: "page-hocuspocus.mjs", packages: hocuspocusPackages,
		options: []string{"fixed"}, settings: []string{"10000"},
	}.peer()
)
