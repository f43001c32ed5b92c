// Hocuspocus with one document, of which only the awareness is used, and its extension for Redis
// as https://tiptap.dev/docs/hocuspocus/server/extensions/redis shows. With the argument "fixed",
// its nodes tell each other who has left: server 4.7.0 drops that from whatever it receives
// (MessageReceiver encodes an update of awareness anew, and takes only the states that are left),
// so that a leave crosses to other nodes no sooner than by the time-out of 30 s.
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
    leaves.on('message', (_, clients) => {
      const document = this.instance.documents.get('room');
      if (document) removeAwarenessStates(document.awareness, JSON.parse(clients), 'leaves');
    });
  }
  async onAwarenessUpdate(update) {
    await super.onAwarenessUpdate(update);
    if (update.removed.length > 0) this.pub.publish('leaves', JSON.stringify(update.removed)).catch(() => {});
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
