// Socket.IO with the adapter of Redis streams, and fetchSockets(), which its documentation has for
// all sockets of a fleet (https://socket.io/docs/v4/server-instance/#fetchsockets). Each process
// asks each 5 s, and tells its own pages. A join is told to all at once; a leave, once two answers
// do not have the user. While an answer fails, the list stays.
import { setTimeout as sleep } from 'node:timers/promises';
import { createAdapter } from '@socket.io/redis-streams-adapter';
import { createClient } from 'redis';
import { Server } from 'socket.io';
import { listen, redisURL } from './site.mjs';

const redis = createClient({ url: redisURL });
redis.on('error', () => {});
await redis.connect();
const io = new Server({ adapter: createAdapter(redis) });
const missed = new Map(); // user who is shown → in how many answers he was not
const join = (user) => {
  if (!missed.has(user)) io.local.emit('user has connected', user);
  missed.set(user, 0);
};
io.on('came', join);
io.on('connection', (socket) => {
  socket.on('list', (answer) => answer([...missed.keys()]));
  const { user } = socket.handshake.auth;
  if (!user) return; // a page that only watches
  socket.data.user = user;
  join(user);
  io.serverSideEmit('came', user);
});
const ask = async () => {
  const there = new Set((await io.fetchSockets()).map((socket) => socket.data.user).filter(Boolean));
  there.forEach(join);
  for (const [user, times] of missed) {
    if (there.has(user)) continue;
    missed.set(user, times + 1);
    if (times === 0) continue;
    missed.delete(user);
    io.local.emit('user has disconnected', user);
  }
};
(async () => {
  for (; ; await sleep(5000)) await ask().catch(() => {});
})();
listen(io, () => [...missed.keys()]);
