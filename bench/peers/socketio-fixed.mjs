// Socket.IO as we would write presence for it. The how-to keeps counts in Redis, which are wrong
// once one change of them is lost. Here nothing is kept: each process tells the others every 3 s
// whom it has, and at once who is new. A user is online until no process had him for 10 s. So a
// navigation, a second tab, a process that dies, and lost data of Redis are all the same case. When
// Redis was away, nobody leaves before all processes have told again. Each process tells its own
// pages, so a page's news never depend on a message that may be lost. (The clocks of the processes
// should differ by less than a second.)
//
// Between processes is the adapter of Redis streams, which its page recommends over the older one
// (https://socket.io/docs/v4/redis-streams-adapter/), and serverSideEmit of Server
// (https://socket.io/docs/v4/server-api/#serverserversideemiteventname-args).
import { setTimeout as sleep } from 'node:timers/promises';
import { createAdapter } from '@socket.io/redis-streams-adapter';
import { createClient } from 'redis';
import { Server } from 'socket.io';
import { listen, redisURL } from './site.mjs';

const redis = createClient({ url: redisURL });
redis.on('error', () => {});
await redis.connect();
// Clients that vanish are noticed within 20 s. The defaults are 25 + 20 s.
const io = new Server({ adapter: createAdapter(redis), pingInterval: 10000, pingTimeout: 10000 });

const ours = new Map(); // user → number of his sockets here
const seen = new Map(); // user → when a process last had him
const told = (users, at) => {
  for (const user of users) {
    if (!seen.has(user)) io.local.emit('user has connected', user);
    seen.set(user, Math.max(at, seen.get(user) ?? 0));
  }
};
const tell = () => ours.size > 0 && io.serverSideEmit('users', [...ours.keys()], Date.now());
io.on('users', told);
io.on('who?', tell);
io.on('connection', (socket) => {
  socket.on('list', (answer) => answer([...seen.keys()]));
  const { user } = socket.handshake.auth;
  if (!user) return; // a page that only watches
  ours.set(user, (ours.get(user) ?? 0) + 1);
  told([user], Date.now());
  if (ours.get(user) === 1) io.serverSideEmit('users', [user], Date.now());
  socket.on('disconnect', () => {
    ours.set(user, ours.get(user) - 1);
    if (ours.get(user) === 0) ours.delete(user);
  });
});
setInterval(tell, 3000);
(async () => {
  for (let settled = 0; ; await sleep(1000)) {
    const asked = Date.now();
    const answers = await redis.ping().then(() => Date.now() - asked < 1000, () => false);
    if (!answers) settled = Date.now() + 5000;
    told(ours.keys(), Date.now());
    for (const [user, at] of seen) {
      if (Date.now() < Math.max(at + 10000, settled)) continue;
      seen.delete(user);
      io.local.emit('user has disconnected', user);
    }
  }
})();
for (let i = 0; i < 5; i++) { // the others answer before the first page asks
  io.serverSideEmit('who?');
  await sleep(100);
}
listen(io, () => [...seen.keys()]);
