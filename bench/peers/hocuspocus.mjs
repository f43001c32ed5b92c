// Hocuspocus with one document, of which only the awareness is used, and its extension for Redis
// as https://tiptap.dev/docs/hocuspocus/server/extensions/redis shows. With the argument "fixed",
// its nodes tell each other who has left: server 4.7.0 drops that from whatever it receives
// (MessageReceiver encodes an update of awareness anew, and takes only the states that are left),
// so that a leave crosses to other nodes no sooner than by the time-out of 30 s. And each node tells
// each 3 s whom it has. Who was told by no node for 10 s has left. While a node does not hear
// itself, Redis is away, and nobody leaves.
import { Redis } from '@hocuspocus/extension-redis';
import { Server } from '@hocuspocus/server';
import RedisClient from 'ioredis';
import { removeAwarenessStates } from 'y-protocols/awareness';
import { answer, host, port, redisURL } from './site.mjs';

class WithLeaves extends Redis {
  constructor(configuration) {
    super(configuration);
    const leaves = configuration.createClient();
    leaves.subscribe('leaves');
    leaves.on('message', (_, text) => {
      const { node, left, here } = JSON.parse(text);
      if (left && node !== port) { // another node knows nothing better of ours
        const ours = new Set(this.ours());
        this.remove(left.filter((client) => !ours.has(client)));
      }
      for (const client of here ?? []) this.told.set(client, Date.now());
      if (node === port) this.heard = Date.now();
    });
    setInterval(() => this.say({ here: this.ours() }), 3000);
    setInterval(() => this.expire(), 1000);
  }
  told = new Map(); // client → when a node last had it
  heard = 0; // when this node last heard itself
  get document() { return this.instance?.documents.get('room'); }
  say(what) {
    this.pub.publish('leaves', JSON.stringify({ node: port, ...what })).catch(() => {});
  }
  ours() {
    return [...this.document?.connections.values() ?? []].flatMap(({ clients }) => [...clients]);
  }
  remove(clients) {
    if (this.document) removeAwarenessStates(this.document.awareness, clients, 'leaves');
  }
  expire() {
    if (!this.document) return;
    const now = Date.now(), away = now - this.heard > 5000, ours = new Set(this.ours());
    const gone = [];
    for (const client of this.document.awareness.getStates().keys()) {
      if (away || ours.has(client) || !this.told.has(client)) this.told.set(client, now);
      if (now - this.told.get(client) > 10000) gone.push(client);
    }
    for (const client of gone) this.told.delete(client);
    if (gone.length > 0) this.remove(gone);
  }
  async onAwarenessUpdate(update) {
    await super.onAwarenessUpdate(update);
    if (update.removed.length > 0) this.say({ left: update.removed });
  }
}

// A node where nobody has opened the room does not know who is there, so the site opens it:
// https://tiptap.dev/docs/hocuspocus/server/methods.
let room;
const roster = async (instance) => {
  const { document } = await (room ??= instance.openDirectConnection('room'));
  const states = document.awareness.getStates();
  return [...new Set([...states.values()].map((state) => state.user).filter(Boolean))];
};
const Extension = process.argv[4] === 'fixed' ? WithLeaves : Redis;
const server = new Server({
  port: Number(port), address: host, quiet: true,
  extensions: [new Extension({ createClient: () => new RedisClient(redisURL).on('error', () => {}) })],
  async onRequest({ request, response, instance }) {
    if (request.url !== '/roster') return;
    await answer(response, () => roster(instance));
    throw null; // so the documentation says that the request is answered
  },
});
await server.listen();
