// Socket.IO with a room, and the adapter of Redis streams between nodes.
const { createServer } = require('http');
const { Server } = require('socket.io');
const { createClient } = require('redis');
const { createAdapter } = require('@socket.io/redis-streams-adapter');
(async () => {
  const redis = createClient({ socket: { path: process.argv[2] } });
  await redis.connect();
  const server = createServer();
  const io = new Server(server, { transports: ['websocket'], pingInterval: 3600000, adapter: createAdapter(redis, { onlyPlaintext: true }) });
  io.on('connection', (socket) => {
    socket.join('thread:1');
    socket.on('typing', (word) => socket.to('thread:1').emit('typing', word));
  });
  server.listen(0, '127.0.0.1', () => console.log('127.0.0.1:' + server.address().port));
})();
process.stdin.resume().on('end', () => process.exit(0));
