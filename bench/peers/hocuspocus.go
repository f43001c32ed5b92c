package main

import "time"

var hocuspocusPackages = []string{"@hocuspocus/server", "@hocuspocus/extension-redis", "@hocuspocus/provider", "ioredis", "yjs", "y-protocols"}

var (
	hocuspocus = scriptPeer{
		name: "Hocuspocus",
		says: "server and extension-redis 4.7.0, provider 4.8.0; awareness, which ends after 30 s",
		year: "2026", needs: "Redis, Node.js; 0 lines", renewal: 15 * time.Second,
		slowest: 35 * time.Second,
		server:  "hocuspocus.mjs", page: "page-hocuspocus.mjs", packages: hocuspocusPackages,
	}.peer()
	hocuspocusFixed = scriptPeer{
		name: "Hocuspocus, with fixes",
		says: "its nodes tell each other every 3 s whom they have, and at once who has left; a user is online for 10 s after the last such message; the page shows a leave 6 s later",
		year: "2026", needs: "Redis, Node.js; 46 lines in the server, 30 in the page", renewal: 15 * time.Second,
		slowest: 45 * time.Second,
		server:  "hocuspocus.mjs", page: "page-hocuspocus.mjs", packages: hocuspocusPackages,
		options: []string{"fixed"}, settings: []string{"6000"},
	}.peer()
)
