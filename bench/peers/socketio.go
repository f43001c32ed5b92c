package main

import "time"

var (
	socketIO = scriptPeer{
		name:   "Socket.IO, its how-to",
		says:   "4.8.4, redis-adapter 8.3.0; the how-to \"count connected users\", where a process's key lives 10 s",
		server: "socketio-howto.mjs", page: "page-socketio.mjs",
		packages: []string{"socket.io", "socket.io-client", "@socket.io/redis-adapter", "redis"},
	}.peer()
	socketIOFixed = scriptPeer{
		name:    "Socket.IO, with fixes",
		says:    "4.8.4, redis-streams-adapter 0.3.1; each process tells the others every 3 s whom it has, and a user is online until nobody has told of him for 10 s; ping 10 + 10 s",
		slowest: 30 * time.Second,
		server:  "socketio-fixed.mjs", page: "page-socketio.mjs",
		packages: []string{"socket.io", "socket.io-client", "@socket.io/redis-streams-adapter", "redis"},
	}.peer()
)
