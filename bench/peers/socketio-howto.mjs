// Socket.IO as its how-to "How to count the number of connected users" has it, part "Cluster",
// "All users presence" (https://socket.io/how-to/count-connected-users): the same keys of Redis,
// the same commands in the same order, the same 10 and 5 seconds. Between nodes is
// @socket.io/redis-adapter, wired as https://socket.io/docs/v4/redis-adapter/ shows. What the
// how-to leaves open is left open: nobody tells pages about the users of a dead process.
//
// Two things are added. A page asks once for the list. And site.mjs prints errors that nobody
// handles: the how-to has no handler, and Node.js would end the process.
import { randomUUID } from 'node:crypto';
import { createAdapter } from '@socket.io/redis-adapter';
import { createClient, defineScript } from 'redis';
import { Server } from 'socket.io';
import { listen, redisURL } from './site.mjs';

const script = (keys, SCRIPT) => defineScript({ NUMBER_OF_KEYS: keys, SCRIPT, transformArguments: (...args) => args });
const redis = createClient({
  url: redisURL,
  scripts: {
    hDecr: script(1, `
      local left = redis.call('HINCRBY', KEYS[1], ARGV[1], -1)
      if left == 0 then redis.call('HDEL', KEYS[1], ARGV[1]) end
      return left`),
    cleanup: script(2, `
      local gone, all = {}, redis.call('HGETALL', KEYS[2])
      for i = 1, #all, 2 do
        if redis.call('HINCRBY', KEYS[1], all[i], -tonumber(all[i + 1])) == 0 then
          redis.call('HDEL', KEYS[1], all[i])
          table.insert(gone, all[i])
        end
      end
      redis.call('DEL', KEYS[2])
      return gone`),
  },
});
const publisher = createClient({ url: redisURL });
const subscriber = publisher.duplicate();
for (const client of [redis, publisher, subscriber]) client.on('error', () => {});
await Promise.all([redis.connect(), publisher.connect(), subscriber.connect()]);

const id = randomUUID();
await redis.multi().sAdd('processes', id).set(`${id}:is-up`, '1', { EX: 10 }).exec();
setInterval(() => redis.expire(`${id}:is-up`, 10), 5000);
setInterval(async () => {
  const processes = await redis.sMembers('processes');
  const states = await redis.mGet(processes.map((p) => `${p}:is-up`));
  for (const [i, p] of processes.entries()) {
    if (states[i] !== '1') await redis.multi().cleanup('users', `${p}:users`).sRem('processes', p).exec();
  }
}, 5000);

const io = new Server({ adapter: createAdapter(publisher, subscriber) });
const list = () => redis.hKeys('users');
io.on('connection', async (socket) => {
  socket.on('list', async (answer) => answer(await list()));
  const { user } = socket.handshake.auth;
  if (!user) return; // a page that only watches
  const [count] = await redis.multi().hIncrBy('users', user, 1).hIncrBy(`${id}:users`, user, 1).exec();
  if (count === 1) io.emit('user has connected', user);
  socket.on('disconnect', async () => {
    const [left] = await redis.multi().hDecr('users', user).hDecr(`${id}:users`, user).exec();
    if (left === 0) io.emit('user has disconnected', user);
  });
});
listen(io, list);
