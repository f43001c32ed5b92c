package main

import "time"

var (
	socketIO = scriptPeer{
		name: "Socket.IO, its how-to",
		says: "4.8.4, redis-adapter 8.3.0; the how-to \"count connected users\", where a process's key lives 10 s",
		year: "2026", needs: "Redis, Node.js; 53 lines, the whole server", renewal: 5 * time.Second,
		server: "socketio-howto.mjs", page: "page-socketio.mjs",
		packages: []string{"socket.io", "socket.io-client", "@socket.io/redis-adapter", "redis"},
	}.peer()
	socketIOFetch = scriptPeer{
		name: "Socket.IO, fetchSockets()",
		says: "4.8.4, redis-streams-adapter 0.3.1; each process asks all for their sockets each 5 s, and a user leaves who is in none of two answers",
		year: "2026", needs: "Redis, Node.js; 38 lines, the whole server",
		slowest: 60 * time.Second, renewal: 5 * time.Second,
		server: "socketio-fetch.mjs", page: "page-socketio.mjs",
		packages: []string{"socket.io", "socket.io-client", "@socket.io/redis-streams-adapter", "redis"},
	}.peer()
	socketIOFixed = scriptPeer{
		name: "Socket.IO, with fixes",
		says: "4.8.4, redis-streams-adapter 0.3.1; each process tells the others every 3 s whom it has; a user is online for 10 s after the last such message; ping 10 + 10 s",
		year: "2026", needs: "Redis, Node.js; 51 lines, the whole server", renewal: 3 * time.Second,
		slowest: 30 * time.Second,
		server:  "socketio-fixed.mjs", page: "page-socketio.mjs",
		packages: []string{"socket.io", "socket.io-client", "@socket.io/redis-streams-adapter", "redis"},
	}.peer()
)
