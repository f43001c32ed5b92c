// Socket.IO as we would write presence for it. The how-to keeps counts in Redis, which are wrong
// once one change of them is lost. Here nothing is kept: each process tells the others every 3 s
// whom it has, and at once who is new. A user is online until no process has told of him for 10 s.
// So a navigation, a second tab, a process that dies, and lost data of Redis are all the same case.
// While Redis does not answer, nobody grows older: no process can tell then. Each process tells its
// own pages, so a page's news never depend on a message that may be lost.
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
const ages = new Map(); // user → seconds since a process told of him
const told = (users) => {
  for (const user of users) {
    if (!ages.has(user)) io.local.emit('user has connected', user);
    ages.set(user, 0);
  }
};
const tell = () => ours.size && io.serverSideEmit('users', [...ours.keys()]);
io.on('users', told);
io.on('who?', tell);
io.on('connection', (socket) => {
  socket.on('list', (answer) => answer([...ages.keys()]));
  const { user } = socket.handshake.auth;
  if (!user) return; // a page that only watches
  ours.set(user, (ours.get(user) ?? 0) + 1);
  if (ours.get(user) === 1) io.serverSideEmit('users', [user]);
  told([user]);
  socket.on('disconnect', () => {
    ours.set(user, ours.get(user) - 1);
    if (ours.get(user) === 0) ours.delete(user);
  });
});
setInterval(tell, 3000);
(async () => {
  for (;;) {
    await sleep(1000);
    await redis.ping().catch(() => {}); // waits while Redis is away
    told(ours.keys());
    for (const [user, age] of ages) {
      ages.set(user, age + 1);
      if (age < 10) continue;
      ages.delete(user);
      io.local.emit('user has disconnected', user);
    }
  }
})();
for (let i = 0; i < 5; i++) { // the others answer before the first page asks
  io.serverSideEmit('who?');
  await sleep(100);
}
listen(io, () => [...ages.keys()]);
