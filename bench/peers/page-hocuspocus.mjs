// A page of Hocuspocus: https://tiptap.dev/docs/hocuspocus/guides/awareness. The first setting is
// for how many milliseconds the page goes on to show a user who has left: most are back by then.
import { HocuspocusProvider, HocuspocusProviderWebsocket } from '@hocuspocus/provider';
import WebSocket from 'ws';
import * as Y from 'yjs';
import { getJSON } from './ask.mjs';
import { patient } from './patient.mjs';

const patience = Number(process.argv[3] ?? 0);

// connect returns the page's socket and its provider, and a promise for their first state.
function connect(addr, user) {
  const socket = new HocuspocusProviderWebsocket({ url: `ws://${addr}`, WebSocketPolyfill: WebSocket });
  const provider = new HocuspocusProvider({ websocketProvider: socket, name: 'room', document: new Y.Doc() });
  const synced = new Promise((done) => provider.on('synced', done));
  provider.attach();
  if (user) provider.setAwarenessField('user', user);
  return { socket, provider, synced };
}

// close ends the socket as a page does that dies: its state is not taken back. (Where the browser
// lets it, the client takes the state back when a page is hidden. No peer's page says goodbye here.)
function close({ socket, provider }) {
  socket.webSocket?.terminate();
  socket.destroy();
  provider.destroy();
}

export async function open({ addr, user, gone }) {
  const page = connect(addr, user);
  const ended = new Promise((_, fail) => page.socket.on('close', () => {
    close(page);
    gone();
    fail(new Error('the connection closed'));
  }));
  await Promise.race([page.synced, ended]);
  ended.catch(() => {});
  return { close: () => close(page) };
}

export async function watch({ addr, all, join, leave }) {
  const page = connect(addr);
  const { socket, provider } = page;
  const list = patience > 0 ? patient(patience, { all, join, leave }) : { all };
  const show = () => {
    if (socket.status !== 'connected') return; // the client forgets the others; the page does not
    list.all(new Set([...provider.awareness.getStates().values()].map((state) => state.user).filter(Boolean)));
  };
  provider.awareness.on('change', show);
  provider.on('synced', show);
  await page.synced;
  return { close: () => close(page) };
}

export const roster = ({ addr }) => getJSON(`http://${addr}/roster`);
